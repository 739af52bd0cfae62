"""One table of predictions for left-out sources, from which the experts are combined."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..data.chunks import padded, spaced_rows
from ..data.domains import rows_by_domain
from ..data.layout import Encoded
from ..data.sample import Sample, drawn_by_weight, encode_rows
from ..inference.combination import LeftOutSite
from ..inference.experts import evaluate_slots, label_support, network_moments
from ..inference.fitted import FittedModel
from ..inference.graph_expert import EffectPrior, infer_label
from ..inference.prediction import Experts, combine_experts
from ..inference.site_effects import SlotRows, effects_of_source
from ..model.constants import LEFT_OUT_ROWS, LEFT_OUT_SOURCES, TEMPERATURES
from .folds import leaves_out


@dataclass(frozen=True)
class LeftOutTable:
    """Predictions for every source that some networks left out, and the effects of the sources.

    `own` are the rows of these sources as the model's own networks see them: first and second
    moments of f0 and f1, and which features are missing.
    """

    sites: tuple[LeftOutSite, ...]
    own: tuple[tuple[NDArray, NDArray, NDArray], ...]
    effects: EffectPrior | None

    def stated_variance(self, model: FittedModel, site: int) -> NDArray[np.float64]:
        """Variance of a number that the model states for the rows of a source: [rows]."""
        networks, squares, missing = self.own[site]
        left, found = self.sites[site], model.combination
        graph, variance = left.graph[found.temperature], left.graph_variance[found.temperature]
        experts = Experts(networks, squares, graph, variance, found.weights, missing, None)
        stated = combine_experts(model, experts).variance
        assert stated is not None
        return stated[:, 0]


def predict_left_out(model: FittedModel, folds: FittedModel, sample: Sample) -> LeftOutTable:
    """`folds` is the model with the networks that leave sources out in place of its own."""
    with threadpool_limits(limits=1, user_api="blas"):  # matrices are small
        return _predict_left_out(model, folds, sample)


def _predict_left_out(model: FittedModel, folds: FittedModel, sample: Sample) -> LeftOutTable:
    out = np.stack(
        [leaves_out_by(model, sample.n_sources, member) for member in range(model.n_members)], 1
    )  # [sources, members, networks]
    rows = _labelled_rows(sample)
    usable = [d for d in range(sample.n_sources) if out[d].any() and len(rows[d]) > 1]
    usable = [usable[k] for k in spaced_rows(len(usable), LEFT_OUT_SOURCES)]
    data = {d: encode_rows(model.table, sample, rows[d]) for d in usable}
    known, asked, networks, own = {}, {}, {}, {}
    for d in usable:
        piece = padded(data[d])
        env = folds.source_mean[:, d]
        shares = out[d] / out[d].sum()
        both = np.zeros((2, *model.network_weights.shape[1:]))
        both[0, :, model.sizes.n_predictors :] = shares
        both[1, :, : model.sizes.n_predictors] = shares
        networks[d] = network_moments(folds, both, env[:, None], piece)[0][:, : len(rows[d])]
        own[d] = _seen_by(model, env, piece, len(rows[d]))
        known[d] = evaluate_slots(folds, shares, env, piece, len(rows[d]), labelled=True)
        asked[d] = evaluate_slots(folds, shares, env, piece, len(rows[d]), labelled=False)
    sources = {d: [effects_of_source(slot) for slot in known[d]] for d in usable}
    if len(usable) < 2:
        prior = EffectPrior.learn(list(sources.values())) if usable else None
        return LeftOutTable((), (), prior)
    sites = []
    for d in usable:
        others = EffectPrior.learn([sources[k] for k in usable if k != d])
        columns = data[d].values[:, -model.sizes.label_columns :].astype(np.float64)
        truth = columns[:, : model.table.label.width]
        sites.append(_site(model, others, asked[d], networks[d], truth))
    prior = EffectPrior.learn(list(sources.values()))
    return LeftOutTable(tuple(sites), tuple(own[d] for d in usable), prior)


def _seen_by(
    model: FittedModel, env: NDArray, piece: Encoded, n_rows: int
) -> tuple[NDArray, NDArray, NDArray]:
    """Moments of f0 and f1 by the model's own networks, and which features are missing."""
    first, second = network_moments(model, model.network_weights, env[:, None], piece)
    missing = 1.0 - piece.observed[:n_rows, : len(model.table.features)]
    return first[:, :n_rows].astype(float), second[:, :n_rows].astype(float), missing


def leaves_out_by(model: FittedModel, n_sources: int, member: int) -> NDArray[np.float64]:
    """[sources, networks] of one member."""
    sizes = replace(model.sizes, n_fold=model.sizes.n_predictors)
    return leaves_out(sizes, n_sources, member).astype(float)


def _labelled_rows(sample: Sample) -> list[NDArray[np.intp]]:
    """At most `LEFT_OUT_ROWS` rows of every source, by position."""
    labelled = sample.labelled
    found = [labelled[rows] for rows in rows_by_domain(sample.domain[labelled])]
    found += [np.zeros(0, dtype=np.intp)] * (sample.n_sources - len(found))
    return [_counting_alike(sample, rows) for rows in found]


def _counting_alike(sample: Sample, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    if sample.weight is None or not len(rows):
        return rows[spaced_rows(len(rows), LEFT_OUT_ROWS)]
    return rows[drawn_by_weight(sample.weight[rows], LEFT_OUT_ROWS)]


def _site(
    model: FittedModel,
    prior: EffectPrior,
    slots: list[SlotRows],
    networks: NDArray[np.float64],
    truth: NDArray[np.float64],
) -> LeftOutSite:
    support = label_support(model)
    estimates = model.rules.estimates_effects
    found = [infer_label(prior, slots, support, t, estimates) for t in TEMPERATURES]
    return LeftOutSite(
        truth=truth,
        pooled=networks[0].astype(float),
        environment=networks[1].astype(float),
        graph=np.stack([one.mean(support) for one in found]),
        graph_variance=np.stack([one.variance(support) for one in found]),
    )
