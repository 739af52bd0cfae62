"""The rows that a baseline is trained on."""

from dataclasses import replace

import numpy as np

from ..data.sample import Sample, in_fixed_order, taken

POOL = "pool"


def sources_only(sample: Sample) -> Sample:
    """The sample without the rows of targets."""
    sources = taken(sample, np.flatnonzero(sample.is_source))
    return replace(sources, domain_labels=sample.domain_labels[: sample.n_sources])


def pooled(sample: Sample) -> Sample:
    """The rows of all sources as one domain."""
    sources = sources_only(sample)
    one = np.zeros_like(sources.domain)
    return in_fixed_order(replace(sources, domain=one, domain_labels=(POOL,), n_sources=1))
