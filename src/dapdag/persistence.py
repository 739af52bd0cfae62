"""A fitted estimator as one file, and back; so a site that is known, with its model.

The file is a safetensors file: the arrays as tensors, and everything else as one JSON text in its
header. Reading it runs no code. The text holds a SHA-256 of the whole file (computed with zeros in
the digest's own place), so that damage is detected.
"""

import math
import os
from collections.abc import Mapping
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import __version__
from ._runtime.files import atomic_write_bytes
from ._sklearn.mixins import WithEnvironments
from ._sklearn.site_model import SiteModel
from .storage.container import FORMAT_VERSION, from_bytes, read_file, to_bytes
from .storage.fit import Arrays, decode_fit, encode_fit
from .storage.scalars import decode_frame, decode_scalar, encode_frame, encode_scalar
from .storage.site import PREFIX, decode_site, encode_site

__all__ = ["FORMAT_VERSION", "load", "save"]

# The classes that a file may name, and their modules. A file cannot name a module to import.
ESTIMATORS = {
    "DAPDAGClassifier": "dapdag.estimators",
    "DAPDAGRegressor": "dapdag.estimators",
    "BRMClassifier": "dapdag.baselines.brm",
    "BRMRegressor": "dapdag.baselines.brm",
    "CASTLEClassifier": "dapdag.baselines.castle",
    "CASTLERegressor": "dapdag.baselines.castle",
    "MDANClassifier": "dapdag.baselines.mdan.estimator",
    "MDANRegressor": "dapdag.baselines.mdan.estimator",
    "MLPClassifier": "dapdag.baselines.mlp",
    "MLPRegressor": "dapdag.baselines.mlp",
}

# What is kept about the reading of training tables, and what it is where nothing was said.
READING: dict[str, Any] = {
    "missing": [],
    "decimal": None,
    "domain": None,
    "ids": [],
    "dropped": [],
    "weight": None,
    "group": None,
}


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file, as a whole or not at all.

    A `random_state` that is a generator and the path of a `checkpoint` are not kept: the loaded
    estimator has None instead.

    Raises
    ------
    ValueError
        If a column, a domain or a class is named by anything but a string, number or bool.
    """
    check_is_fitted(estimator)
    if isinstance(estimator, SiteModel):
        atomic_write_bytes(path, to_bytes(*_encode_at_site(estimator)))
        return
    atomic_write_bytes(path, to_bytes(*_encode(estimator)))


def _encode(estimator: Any) -> tuple[dict[str, Any], Arrays]:
    """A fitted estimator as a header and arrays."""
    name = type(estimator).__name__
    if name not in ESTIMATORS or _class(name) is not type(estimator):
        raise ValueError(f"cannot save a {name}: only {', '.join(ESTIMATORS)} can be saved")
    header, arrays = encode_fit(estimator.fitted_)
    names = getattr(estimator, "feature_names_in_", None)
    header |= {
        "estimator": name,
        "params": {k: _param(k, v) for k, v in estimator.get_params(deep=False).items()},
        "sources": [
            encode_scalar(label, f"the domain at position {k} of the sources")
            for k, label in enumerate(estimator.sources_)
        ],
        "feature_names_in": None if names is None else [str(n) for n in names],
    }
    if estimator.reading_ is not None:
        header["reading"] = estimator.reading_
    if estimator.assessment_ is not None:
        header["assessment"] = encode_frame(estimator.assessment_, "assessment_")
    return header, arrays


def _encode_at_site(site: SiteModel) -> tuple[dict[str, Any], Arrays]:
    """The model of a site, with what is known of the site."""
    header, arrays = _encode(site.estimator)
    about, own = encode_site(site.known_)
    return header | {"site": about}, arrays | own


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator, or a known site, that `save` wrote; it predicts to the bit what the saved
    one did.

    Parameters
    ----------
    path : path-like
        What `save` wrote.

    Returns
    -------
    estimator or SiteModel
        As it was saved.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, not a model, or written by a newer dapdag.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dapdag
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = dapdag.DAPDAGRegressor()
    >>> model = model.fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "site.dapdag")
    ...     again = dapdag.load(Path(folder) / "site.dapdag")
    >>> bool((again.predict(split.X_target) == model.predict(split.X_target)).all())
    True
    """
    try:
        data = read_file(Path(path))
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no model at {os.fspath(path)!r}") from None
    except ValueError as error:
        raise ValueError(f"cannot load {os.fspath(path)!r}: {error}") from error
    try:
        header, arrays = from_bytes(data)
        own = {name: arrays.pop(name) for name in list(arrays) if name.startswith(PREFIX)}
        estimator = _unfitted(header)
        _restore(estimator, header, arrays)
        about = header.get("site")
        return estimator if about is None and not own else _at_site(estimator, about, own)
    except ValueError as error:
        raise ValueError(f"cannot load {os.fspath(path)!r}: {error}") from error


def _at_site(estimator: Any, about: Any, arrays: Arrays) -> SiteModel:
    """The known site of a fitted estimator."""
    if not isinstance(estimator, WithEnvironments) or not isinstance(about, dict):
        raise ValueError("its site does not go with its model: save the site again")
    try:
        return estimator._site_model(decode_site(about, arrays, estimator.fitted_.model))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        what = str(error) if isinstance(error, ValueError) else repr(error)
        raise ValueError(f"its site does not go with its model ({what})") from error


def _unfitted(header: Mapping[str, Any]) -> Any:
    """The estimator as it was constructed."""
    name, params = str(header.get("estimator")), header.get("params")
    advice = f"dapdag {header.get('dapdag_version')} wrote it: install that version"
    if name not in ESTIMATORS:
        known = ", ".join(ESTIMATORS)
        raise ValueError(f"it holds a {name}, dapdag {__version__} knows {known}; {advice}")
    if not isinstance(params, dict):
        raise ValueError("it has no parameters: save the model again")
    unknown = sorted(params.keys() - _class(name)().get_params(deep=False).keys())
    if unknown:
        raise ValueError(
            f"its {name} has the parameter {unknown[0]!r}, which dapdag {__version__} does not "
            f"know; {advice}"
        )
    return _class(name)(**{key: _given(key, value) for key, value in params.items()})


def _given(name: str, value: Any) -> Any:
    if name == "structure" and isinstance(value, dict) and "edges" in value:
        return _decode_graph(value)
    if name == "categorical_features" and isinstance(value, list):
        return [decode_scalar(v) for v in value]
    found = decode_scalar(value)
    if isinstance(found, float) and not math.isfinite(found):
        raise ValueError(f"its parameter {name} is {found}: save the model again")
    return found


def _restore(estimator: Any, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Set the fitted state of an estimator. A valid checksum does not prove who wrote the file."""
    try:
        sources = tuple(decode_scalar(label) for label in header["sources"])
        fit = decode_fit(header, arrays, sources)
        table, names = fit.model.table, header["feature_names_in"]
        if estimator._regression != (table.label.kind == "continuous"):
            raise ValueError(f"the label is {table.label.kind}")
        if names is not None:
            if names != [v.name for v in table.features]:
                raise ValueError("the feature names are not those of the table")
            estimator.feature_names_in_ = np.array(names, dtype=object)
        estimator._adopt(fit, sources)
        if (reading := header.get("reading")) is not None:
            estimator.reading_ = _reading(reading)
        if (assessment := header.get("assessment")) is not None:
            estimator.assessment_ = decode_frame(assessment)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = str(error) if isinstance(error, ValueError) else repr(error)
        raise ValueError(f"its parts do not go together ({what}): save the model again") from error


def _reading(coded: Any) -> dict[str, Any]:
    """How the training tables were read: texts, lists of texts, or None."""
    found = dict(coded)
    for key, value in found.items():
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(v, str) or (v is None and value is None) for v in texts):
            raise ValueError(f"the reading of {key!r} is {value!r}")
    return {key: found.get(key, otherwise) for key, otherwise in READING.items()}


def _encode_graph(graph: nx.DiGraph) -> dict[str, Any]:
    """A graph that the user gave, by the names of its nodes."""
    what = "a node of the parameter structure"
    return {
        "nodes": [encode_scalar(node, what) for node in graph],
        "edges": [[encode_scalar(node, what) for node in edge] for edge in graph.edges],
    }


def _decode_graph(coded: Mapping[str, Any]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(decode_scalar(node) for node in coded["nodes"])
    graph.add_edges_from(tuple(decode_scalar(node) for node in edge) for edge in coded["edges"])
    return graph


def _param(name: str, value: Any) -> Any:
    if name == "structure" and isinstance(value, nx.Graph):
        return _encode_graph(value)
    if name == "random_state" and not isinstance(value, Integral):
        return None
    if name == "checkpoint":
        return None  # a path of this machine says nothing about the model
    if name == "categorical_features" and value is not None and not isinstance(value, str):
        return [encode_scalar(v, f"an element of {name}") for v in value]
    return encode_scalar(value, f"the parameter {name}")


def _class(name: str) -> Any:
    return getattr(import_module(ESTIMATORS[name]), name)
