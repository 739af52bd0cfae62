"""A name for a fitted model, or a known site, that depends on its content alone."""

import hashlib
import json
from typing import Any

import numpy as np

from ..inference.fitted import Fit
from ..inference.site import KnownSite
from .fit import encode_fit
from .site import encode_site
from .table import Arrays


def fingerprint(fit: Fit) -> str:
    """SHA-256 of all that is saved of a fit: the same before and after saving and loading."""
    return _digest(*encode_fit(fit))


def fingerprint_of_site(site: KnownSite) -> str:
    """The same of a site, without its model."""
    return _digest(*encode_site(site))


def _digest(header: dict[str, Any], arrays: Arrays) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
