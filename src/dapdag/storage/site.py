"""A known site as arrays, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.columns import Discrete
from ..data.layout import Encoded
from ..inference.combination import EXPERTS
from ..inference.evidence import Evidence, Rows
from ..inference.fitted import EnvPosterior, FittedModel
from ..inference.labels import Basis, Correction
from ..inference.prediction import SiteEstimate
from ..inference.site import KnownSite, Told
from ..inference.site_effects import Effects
from ..model import Summary
from .table import Arrays

PREFIX = "site."
# Every array of a site. Sizes of one name must agree.
_SHAPES = {
    "excess": ("members", "dimensions of E"),
    "weighted": ("members", "dimensions of E"),
    "values": ("rows", "columns"),
    "observed": ("rows", "variables"),
    "key": ("rows",),
    "labelled_values": ("labelled rows", "columns"),
    "labelled_observed": ("labelled rows", "variables"),
    "labelled_key": ("labelled rows",),
    "levels": ("counts", "features"),
    "env_mean": ("members", "dimensions of E"),
    "env_variance": ("members", "dimensions of E"),
    "effects": ("slots", "slot inputs", "slot columns"),
    "noise": ("slots",),
    "relative": ("children",),
    "weights": ("experts",),
    "proportions": ("classes",),
    "offset": ("columns of the level",),
    "correction_intercept": ("link columns",),
    "correction_coefficients": ("functions", "link columns"),
    "correction_frequencies": ("inputs", "waves"),
    "correction_phases": ("waves",),
}
# Of a site whose rows are elsewhere: what was said about it.
_TOLD = {"told_unexplained": ("features",), "told_mechanisms": ("told slots", "told numbers")}
_CORRECTION = tuple(name for name in _SHAPES if name.startswith("correction_"))
_DTYPES = {
    **dict.fromkeys(("values", "labelled_values"), "float32"),
    **dict.fromkeys(("observed", "labelled_observed"), "bool"),
    "levels": "int64",
    **dict.fromkeys(("key", "labelled_key"), "uint64"),
}


def encode_site(site: KnownSite) -> tuple[dict[str, Any], Arrays]:
    """A site as JSON and arrays: its sums, the rows that are kept, and what was inferred."""
    evidence, estimate = site.evidence, site.estimate
    none = np.zeros(0)
    arrays = {
        "excess": np.asarray(evidence.summary.excess, dtype=float),
        "weighted": np.asarray(evidence.summary.weighted, dtype=float),
        **_encode_rows("", evidence.kept),
        **_encode_rows("labelled_", evidence.labelled),
        "levels": evidence.levels,
        "env_mean": np.asarray(estimate.env.mean, dtype=float),
        "env_variance": np.asarray(estimate.env.variance, dtype=float),
        "effects": np.stack([e.effects for e in estimate.effects])
        if estimate.effects
        else np.zeros((0, 0, 0)),
        "noise": np.array([e.noise for e in estimate.effects], dtype=float),
        "relative": estimate.relative,
        "weights": estimate.weights,
        "proportions": none if estimate.proportions is None else estimate.proportions,
        "offset": estimate.offset,
    }
    if site.told is not None:
        arrays |= dict(zip(_TOLD, (site.told.unexplained, site.told.mechanisms), strict=True))
    about, more = _encode_correction(estimate.correction)
    named = {PREFIX + name: array for name, array in (arrays | more).items()}
    return {"n_rows": int(evidence.n_rows), "correction": about}, named


def _encode_correction(found: Correction | None) -> tuple[dict[str, Any] | None, Arrays]:
    none = np.zeros((0, 0))
    if found is None:
        arrays = [np.zeros(0), none, none, np.zeros(0)]
        return None, dict(zip(_CORRECTION, arrays, strict=True))
    basis = found.basis or Basis(none, np.zeros(0))
    arrays = [found.intercept, found.coefficients, basis.frequencies, basis.phases]
    about = {
        "intercept_variance": float(found.intercept_variance),
        "slope": float(found.slope),
        "noise": float(found.noise),
        "n_labels": int(found.n_labels),
        "has_basis": found.basis is not None,
    }
    return about, dict(zip(_CORRECTION, arrays, strict=True))


def decode_site(header: Mapping[str, Any], arrays: Arrays, model: FittedModel) -> KnownSite:
    """The site again, or a ValueError if its parts do not go together or with the model."""
    found = {name.removeprefix(PREFIX): array for name, array in arrays.items()}
    _check(found, model)
    n_rows = header["n_rows"]
    if type(n_rows) is not int or n_rows < len(found["key"]):
        raise ValueError(f"the site has {n_rows!r} rows, of which {len(found['key'])} are kept")
    evidence = Evidence(
        n_rows,
        Summary(found["excess"], found["weighted"]),  # type: ignore[arg-type]
        _rows(found, ""),
        _rows(found, "labelled_"),
        found["levels"],
    )
    classes = isinstance(model.table.label, Discrete)
    effects = zip(found["effects"], found["noise"].tolist(), strict=True)
    estimate = SiteEstimate(
        EnvPosterior(found["env_mean"], found["env_variance"]),
        tuple(Effects(own, noise) for own, noise in effects),
        found["relative"],
        found["weights"],
        found["offset"],
        found["proportions"] if classes else None,
        _correction(header.get("correction"), found),
    )
    told = Told(*(found[name] for name in _TOLD)) if _TOLD.keys() <= found.keys() else None
    return KnownSite(model, evidence, estimate, told)


def _correction(about: Mapping[str, Any] | None, found: Arrays) -> Correction | None:
    if about is None:
        return None
    intercept, coefficients, frequencies, phases = (found[name] for name in _CORRECTION)
    basis = Basis(frequencies, phases) if about["has_basis"] else None
    if len(coefficients) != (0 if basis is None else len(frequencies) + len(phases)):
        raise ValueError(f"the correction has {len(coefficients)} coefficients")
    numbers = (float(about[key]) for key in ("intercept_variance", "slope", "noise"))
    variance, slope, noise = numbers
    n_labels = int(about["n_labels"])
    return Correction(intercept, variance, slope, basis, coefficients, noise, n_labels)


def _encode_rows(prefix: str, rows: Rows) -> Arrays:
    observed = rows.data.observed > 0
    named = {"values": rows.data.values, "observed": observed, "key": rows.key}
    return {prefix + name: array for name, array in named.items()}


def _rows(found: Arrays, prefix: str) -> Rows:
    values, observed, key = (found[prefix + name] for name in ("values", "observed", "key"))
    return Rows(Encoded(values, observed.astype(np.float32)), key)


def _check(found: Arrays, model: FittedModel) -> None:
    """Every array is there, no other is, and their shapes are those of the model."""
    shapes = _SHAPES | (_TOLD if _TOLD.keys() & found.keys() else {})
    for name in sorted(shapes.keys() ^ found.keys()):
        raise ValueError(f"the array {name!r} is {'missing' if name in shapes else 'unknown'}")
    label, effects = model.table.label, model.effects
    slots, inputs, columns = (0, 0, 0) if effects is None else effects.mean.shape
    known = {
        "members": model.n_members,
        "dimensions of E": model.sizes.env_dim,
        "columns": model.sizes.columns,
        "variables": model.sizes.variables,
        "slots": slots,
        "slot inputs": inputs,
        "slot columns": columns,
        "children": max(slots - 1, 0),
        "experts": len(EXPERTS),
        "counts": 2,
        "features": len(model.table.features),
        "classes": len(label.levels) if isinstance(label, Discrete) else 0,
        "columns of the level": len(model.calibration.level),
        "told numbers": 4,
    }
    for name, axes in shapes.items():
        array, expected = found[name], _DTYPES.get(name, "float64")
        if array.ndim != len(axes) or array.dtype != expected:
            raise ValueError(f"the array {name!r} holds {array.dtype} in {array.ndim} axes")
        for axis, size in zip(axes, array.shape, strict=True):
            if known.setdefault(axis, size) != size:
                raise ValueError(
                    f"the array {name!r} has shape {array.shape}, expected {known[axis]} {axis}"
                )
    weights = found["weights"]
    if not (np.all(weights >= 0) and np.isclose(weights.sum(), 1.0)):
        raise ValueError(f"the weights of the experts are {weights.tolist()}")
