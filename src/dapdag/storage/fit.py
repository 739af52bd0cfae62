"""A fit as JSON and arrays, and back."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import jax
import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.bounds import Bounds, checked_bounds
from ..data.columns import Discrete
from ..data.layout import sizes_of
from ..data.table import Table
from ..graph import DAG
from ..inference.combination import EXPERTS, Combination
from ..inference.expected_scores import ScoreErrors, scores_of
from ..inference.fitted import Fit, FittedModel
from ..inference.graph_expert import EffectPrior
from ..inference.missing import MissingEffects
from ..inference.recalibration import Calibration, class_proportions
from ..inference.row_noise import RowNoise
from ..model import Network, Sizes
from ..model.acyclicity import ACYCLICITY
from ..model.constants import NOISE_LEVELS, TEMPERATURES
from ..model.formulation import Formulation
from ..record import Record
from ..structure.shifts import SHIFT_COLUMNS
from .scalars import decode_scalar, encode_scalar
from .table import Arrays, decode_table, encode_table

# Every array of a fit beside the table's. Sizes of one name must agree.
_SHAPES = {
    "vectors": ("members", "parameters"),
    "parents": ("padded variables", "padded variables"),
    "source_mean": ("members", "sources", "dimensions of E"),
    "source_variance": ("members", "sources", "dimensions of E"),
    "label_scale": ("members",),
    "missing_penalty": ("features",),
    "missing_importance": ("features",),
    "expert_weights": ("experts",),
    "agreement": ("experts beside the graph",),
    "effect_mean": ("slots", "slot inputs", "slot columns"),
    "effect_variance": ("slots", "slot inputs", "slot columns"),
    "effect_noise": ("slots",),
    "normal": ("draws", "dimensions of E"),
    "usual_level": ("columns of the level",),
    "score_errors": ("numbers of a score", "scores"),
    "worst_source_loss": ("features",),
    "adjacency": ("variables", "variables"),
    "mask": ("variables", "variables"),
    "edge_probability": ("variables", "variables"),
    "mechanism_shift": ("variables", "kinds of shift"),
    "strength": ("variables", "variables"),
    "env_strength": ("variables",),
    "history": ("epochs", "terms"),
}
# What prediction computes with.
_FINITE = (
    *("vectors", "parents", "source_mean", "source_variance", "label_scale", "missing_penalty"),
    *("expert_weights", "agreement", "effect_mean", "effect_variance", "effect_noise", "normal"),
    *("usual_level", "score_errors"),
)
_DTYPES = {"vectors": "float32", "parents": "float32", "mask": "bool"}


def encode_fit(fit: Fit) -> tuple[dict[str, Any], Arrays]:
    """All of a fit as JSON and arrays."""
    model = fit.model
    table, arrays = encode_table(model.table)
    effects = model.effects or _NO_EFFECTS
    arrays |= {
        "vectors": model.vectors,
        "parents": model.parents,
        "source_mean": model.source_mean,
        "source_variance": model.source_variance,
        "label_scale": model.label_scale,
        "missing_penalty": model.missing.penalty,
        "missing_importance": model.missing.importance,
        "expert_weights": model.combination.weights,
        "agreement": model.combination.agreement,
        "effect_mean": effects.mean,
        "effect_variance": effects.variance,
        "effect_noise": effects.noise,
        "normal": model.normal,
        "worst_source_loss": model.worst_source_loss,
        "usual_level": model.calibration.level,
        "score_errors": np.stack(
            [model.score_errors.shift, model.score_errors.between, model.score_errors.n_sites]
        ),
        "adjacency": fit.adjacency,
        "mask": fit.dag.mask,
        "edge_probability": fit.edge_probability,
        "mechanism_shift": fit.shifts,
        "strength": fit.strength,
        "env_strength": fit.env_strength,
        "history": fit.history.to_numpy(),
    }
    noise = model.calibration.row_noise
    header = {
        "table": table,
        "sizes": _encoded(asdict(model.sizes)),
        "formulation": _encoded(asdict(model.formulation)),
        "prior_precision": encode_scalar(model.prior_precision, "prior_precision"),
        "temperature": int(model.combination.temperature),
        "label_range": [float(v) for v in model.label_range],
        "label_bounds": [float(v) if np.isfinite(v) else None for v in model.label_bounds],
        "calibration": {
            "slope": float(model.calibration.slope),
            "tau2": float(model.calibration.tau2),
            "ratio": float(model.calibration.ratio),
            "n_sites": int(model.calibration.n_sites),
            "row_noise": [a.tolist() for a in (noise.at, noise.log_factor, noise.log_width)],
        },
        "removed": [[int(i), int(j)] for i, j in fit.dag.removed],
        "threshold": encode_scalar(fit.dag.threshold, "edge_threshold"),
        "history": list(fit.history.columns),
        "n_epochs": int(fit.n_epochs),
        "interrupted": bool(fit.interrupted),
        "record": fit.record.to_json(),
    }
    return header, arrays


def decode_fit(header: Mapping[str, Any], arrays: Arrays, sources: Sequence[Hashable]) -> Fit:
    """The fit again, or a ValueError if its parts do not go together."""
    arrays = dict(arrays)
    table = decode_table(header["table"], arrays)
    sizes = Sizes(**_decoded(header["sizes"]))
    _check_arrays(header, arrays, table, sizes, len(sources))
    formulation = Formulation(**_decoded(header["formulation"]))
    if formulation.acyclicity not in ACYCLICITY:
        raise ValueError(f"acyclicity is the unknown {formulation.acyclicity!r}")
    prior_precision = decode_scalar(header["prior_precision"])
    if not 0 < prior_precision < np.inf:
        raise ValueError(f"prior_precision is {prior_precision!r}")
    model = FittedModel(
        table=table,
        sizes=sizes,
        formulation=formulation,
        vectors=arrays["vectors"],
        parents=arrays["parents"],
        prior_precision=prior_precision,
        source_mean=arrays["source_mean"],
        source_variance=arrays["source_variance"],
        label_scale=arrays["label_scale"],
        missing=MissingEffects(arrays["missing_penalty"], arrays["missing_importance"]),
        combination=_combination(header, arrays),
        effects=_effects(arrays),
        label_range=_label_range(header["label_range"]),
        label_bounds=_label_bounds(header["label_bounds"]),
        worst_source_loss=arrays["worst_source_loss"],
        calibration=_calibration(header["calibration"], arrays["usual_level"], table),
        score_errors=_score_errors(arrays["score_errors"]),
        normal=arrays["normal"],
    )
    return Fit(
        model=model,
        adjacency=arrays["adjacency"],
        dag=_dag(header, arrays["mask"]),
        edge_probability=arrays["edge_probability"],
        shifts=arrays["mechanism_shift"],
        strength=arrays["strength"],
        env_strength=arrays["env_strength"],
        history=pd.DataFrame(arrays["history"], columns=header["history"]).rename_axis("epoch"),
        n_epochs=header["n_epochs"],
        interrupted=header["interrupted"],
        record=Record.from_json(header["record"], table, sources),
    )


_NO_EFFECTS = EffectPrior(np.zeros((0, 0, 0)), np.zeros((0, 0, 0)), np.zeros(0))


def _effects(arrays: Arrays) -> EffectPrior | None:
    noise = arrays["effect_noise"]
    if not len(noise):
        return None
    return EffectPrior(arrays["effect_mean"], arrays["effect_variance"], noise)


def _combination(header: Mapping[str, Any], arrays: Arrays) -> Combination:
    weights, temperature = arrays["expert_weights"], header["temperature"]
    if not (np.all(weights >= 0) and np.isclose(weights.sum(), 1.0)):
        raise ValueError(f"the weights of the experts are {weights.tolist()}")
    if not 0 <= temperature < len(TEMPERATURES):
        raise ValueError(f"temperature is {temperature!r}")
    return Combination(weights, int(temperature), arrays["agreement"])


def _label_range(given: Sequence[float]) -> tuple[float, float]:
    low, high = map(float, given)
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"label_range is {given!r}")
    return low, high


def _label_bounds(given: Any) -> Bounds:
    bounds = checked_bounds(given)
    if isinstance(bounds, str):
        raise ValueError(f"label_bounds is {given!r}")
    return bounds


def _calibration(given: Mapping[str, Any], level: NDArray, table: Table) -> Calibration:
    slope, tau2, ratio = (float(given[name]) for name in ("slope", "tau2", "ratio"))
    n_sites = int(given["n_sites"])
    if not (0 <= slope <= 1 and 0 <= tau2 < np.inf and 1 <= ratio < np.inf and n_sites >= 0):
        raise ValueError(f"the calibration at new sites is {dict(given)!r}")
    classes = isinstance(table.label, Discrete)
    if len(level) != (len(table.label.levels) if isinstance(table.label, Discrete) else 1):
        raise ValueError(f"the usual level of the label has {len(level)} columns")
    overall = class_proportions(table.label) if classes else None  # type: ignore[arg-type]
    noise = _row_noise(given.get("row_noise", ((), ())))  # older files have none
    return Calibration(level, slope, tau2, ratio, n_sites, overall, noise)


def _row_noise(given: Any) -> RowNoise:
    at, log_factor, *width = (np.asarray(part, dtype=float) for part in given)
    found = RowNoise(at, log_factor, *width)
    shapes = at.shape == log_factor.shape and found.log_width.shape == (len(NOISE_LEVELS),)
    if not (shapes and np.isfinite([*at, *log_factor, *found.log_width]).all()):
        raise ValueError(f"the noise of rows is {given!r}")
    if (np.diff(at) <= 0).any():
        raise ValueError(f"the noise of rows is given at {at.tolist()}, which do not increase")
    return found


def _score_errors(given: NDArray) -> ScoreErrors:
    found = ScoreErrors(*given)
    if (found.between < 0).any() or (found.n_sites < 0).any():
        raise ValueError(f"the errors of expected scores are {given.tolist()}")
    return found


def _dag(header: Mapping[str, Any], mask: np.ndarray) -> DAG:
    removed = tuple((int(i), int(j)) for i, j in header["removed"])
    if not all(0 <= i < len(mask) for edge in removed for i in edge):
        raise ValueError("an edge that was removed joins variables that do not exist")
    if not nx.is_directed_acyclic_graph(nx.from_numpy_array(mask, create_using=nx.DiGraph)):
        raise ValueError("the graph has a cycle")
    mask.flags.writeable = False
    return DAG(mask, removed, decode_scalar(header["threshold"]))


def _check_arrays(
    header: Mapping[str, Any], arrays: Arrays, table: Table, sizes: Sizes, n_sources: int
) -> None:
    """Every array is there, no other is, and their shapes fit together."""
    for name in sorted(_SHAPES.keys() ^ arrays.keys()):
        raise ValueError(f"the array {name!r} is {'missing' if name in _SHAPES else 'unknown'}")
    known = {
        "parameters": _n_parameters(sizes, table, arrays["vectors"].size),
        "padded variables": sizes.variables,
        "variables": len(table.names),
        "features": len(table.features),
        "experts": len(EXPERTS),
        "experts beside the graph": len(EXPERTS) - 1,
        "numbers of a score": 3,
        "scores": len(scores_of(table.label.kind)),
        "kinds of shift": len(SHIFT_COLUMNS),
        "classes": len(table.label.levels) if isinstance(table.label, Discrete) else 0,
        "sources": n_sources,
        "dimensions of E": sizes.env_dim,
        "epochs": header["n_epochs"],
        "terms": len(header["history"]),
    }
    for name, axes in _SHAPES.items():
        array = arrays[name]
        if len(axes) != array.ndim:
            raise ValueError(f"the array {name!r} has {array.ndim} axes, not {len(axes)}")
        for axis, size in zip(axes, array.shape, strict=True):
            if known.setdefault(axis, size) != size:
                raise ValueError(
                    f"the array {name!r} has shape {array.shape}, expected {known[axis]} {axis}"
                )
        if name in _FINITE and not np.isfinite(array).all():
            raise ValueError(f"the array {name!r} holds numbers that are not finite")
        expected = _DTYPES.get(name)
        if array.dtype.kind != "f" if expected is None else array.dtype != expected:
            raise ValueError(f"the array {name!r} holds {array.dtype}, not {expected or 'floats'}")


def _n_parameters(sizes: Sizes, table: Table, most: int) -> int:
    """How long the vector of a network of these sizes is."""
    values = list(asdict(sizes).values())
    # None is larger than the number of weights: impossible sizes are refused before allocation.
    if not all(isinstance(v, int | np.integer | np.bool_) and 0 <= v <= most for v in values):
        raise ValueError(f"the sizes are impossible: {sizes}")
    if (sizes.columns, sizes.variables, sizes.label_columns) != sizes_of(table):
        raise ValueError(f"the sizes do not suit {len(table.names)} variables: {sizes}")
    template = jax.eval_shape(lambda: Network.init(sizes, jax.random.key(0)))
    return sum(leaf.size for leaf in jax.tree.leaves(template))


def _encoded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: encode_scalar(value, key) for key, value in values.items()}


def _decoded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: decode_scalar(value) for key, value in values.items()}
