"""A fitted estimator as one file, and back; so a site that is known, with its model.

The file is a safetensors file: the arrays as tensors, and everything else as one JSON text in its
header. Reading it runs no code. The text holds a SHA-256 of the whole file (computed with zeros in
the digest's own place), so that damage is detected.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors
from sklearn.utils.validation import check_is_fitted

from . import __version__
from ._runtime.files import atomic_write_bytes
from ._sklearn.mixins import WithEnvironments
from ._sklearn.site_model import SiteModel
from .storage.fit import Arrays, decode_fit, encode_fit
from .storage.scalars import decode_frame, decode_scalar, encode_frame, encode_scalar
from .storage.site import PREFIX, decode_site, encode_site

FORMAT = "dapdag-model"
FORMAT_VERSION = 4

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
READING: dict[str, Any] = {"missing": [], "decimal": None, "domain": None, "ids": [], "dropped": []}

_KEY = "dapdag"
_NO_DIGEST = "0" * 64


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file, as a whole or not at all.

    A `random_state` that is a generator is not kept: the loaded estimator has None instead.

    Raises
    ------
    ValueError
        If a column, a domain or a class is named by anything but a string, number or bool.
    """
    check_is_fitted(estimator)
    if isinstance(estimator, SiteModel):
        atomic_write_bytes(path, _to_bytes(*_encode_at_site(estimator)))
        return
    atomic_write_bytes(path, _to_bytes(*_encode(estimator)))


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

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, not a model, or written by a newer dapdag.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no model at {os.fspath(path)!r}") from None
    try:
        header, arrays = _from_bytes(data)
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


def _to_bytes(header: dict[str, Any], arrays: Arrays) -> bytes:
    """The file's content; equal estimators give equal bytes."""
    # The digest comes first, so that the zeros it replaces are the first ones in the file. One
    # text holds everything: safetensors writes several entries in no fixed order.
    about = {
        "sha256": _NO_DIGEST,
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "dapdag_version": __version__,
    }
    text = json.dumps(about | header, allow_nan=False)
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    data = save_tensors(contiguous, {_KEY: text})
    return data.replace(_NO_DIGEST.encode(), hashlib.sha256(data).hexdigest().encode(), 1)


def _from_bytes(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a file, after every check that needs no knowledge of models."""
    header = _header(data)
    version = header.get("format_version")
    if header.get("format") != FORMAT or type(version) is not int or version < 1:
        raise ValueError("its header is not one of a dapdag model: save the model again")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"it was written by a newer dapdag (format {version}); this one reads up to "
            f"{FORMAT_VERSION}: upgrade dapdag"
        )
    if version < FORMAT_VERSION:
        raise ValueError(
            f"it was written by a development version of dapdag (format {version}); this one reads "
            f"format {FORMAT_VERSION}: fit and save the model again"
        )
    digest = header.get("sha256")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise ValueError("it has no checksum: save the model again")
    blank = data.replace(digest.encode(), _NO_DIGEST.encode(), 1)
    if hashlib.sha256(blank).hexdigest() != digest:
        raise ValueError(
            "it is damaged, its content does not match its checksum: copy it again from where it "
            "was saved, or save the model again"
        )
    try:
        return header, load_tensors(data)
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"its arrays cannot be read ({error}): save the model again") from error


def _header(data: bytes) -> dict[str, Any]:
    """The JSON text in the header of a safetensors file: 8 bytes for its length, then it."""
    length = int.from_bytes(data[:8], "little")
    damaged = "it is not a safetensors file, or was cut short: copy it again, or save it again"
    if len(data) < 8 or length > len(data) - 8:
        raise ValueError(damaged)
    try:
        outer = json.loads(data[8 : 8 + length])
        metadata = outer.get("__metadata__", {})
        text = metadata.get(_KEY)
    except (AttributeError, ValueError, RecursionError) as error:
        raise ValueError(damaged) from error
    if text is None:
        raise ValueError(
            "it is a safetensors file of another program, not a model that dapdag saved"
        )
    try:
        header = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError("its header is damaged: copy it again, or save it again") from error
    if not isinstance(header, dict):
        raise ValueError("its header is damaged: copy it again, or save it again")
    return header


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
    return decode_scalar(value)


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
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if name == "categorical_features" and value is not None and not isinstance(value, str):
        return [encode_scalar(v, f"an element of {name}") for v in value]
    return encode_scalar(value, f"the parameter {name}")


def _class(name: str) -> Any:
    return getattr(import_module(ESTIMATORS[name]), name)
