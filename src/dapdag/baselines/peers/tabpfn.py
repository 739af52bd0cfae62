"""TabPFN, a transformer that has learned from synthetic tables to predict from labelled rows.

Classes by the first version (Hollmann et al. 2023, ICLR), numbers by the second (Hollmann et al.
2025, Nature 637): these are the ones whose weights can be had from the package index.
"""

import sys
import threading
import typing
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .weights import VERSIONS, Version, missing_weights

Array = NDArray[np.float64]
# Forward passes over permuted and transformed columns, whose predictions are averaged. Three are
# the package's default for classes. For numbers it is eight, which take 50 s of processor time for
# 800 rows of 10 columns; so two, and `settings` can ask for more.
PASSES = {"classification": 3, "regression": 2}
# Rows that are predicted at a time: memory grows with them.
BLOCK = 2000


@dataclass(frozen=True)
class TabPFN:
    """The labelled rows that it is shown; nothing is trained."""

    Z: Array
    y: NDArray[Any]
    columns: NDArray[np.intp]
    passes: int
    regression: bool
    random_state: int

    @staticmethod
    def fit(
        Z: Array, y: NDArray[Any], regression: bool, settings: Mapping[str, Any], random_state: int
    ) -> "TabPFN":
        """Keep what TabPFN takes: rows and columns beyond that are left out at random."""
        task = "regression" if regression else "classification"
        if reason := missing_weights(task):
            raise ValueError(reason)
        if unknown := set(settings) - {"n_estimators"}:
            raise ValueError(f"TabPFN has the setting n_estimators, not {', '.join(unknown)}")
        version, n_classes = VERSIONS[task], 0 if regression else int(y.max()) + 1
        if n_classes > version.most_classes:
            raise ValueError(f"TabPFN takes {version.most_classes} classes, got {n_classes}")
        rng = np.random.default_rng(random_state)
        rows = _drawn_rows(y, version.most_rows, regression, rng)
        columns = np.flatnonzero([_varies(column) for column in Z[rows].T])
        if len(columns) > version.most_columns:
            columns = np.sort(rng.choice(columns, version.most_columns, replace=False))
        passes = int(settings.get("n_estimators", PASSES[task]))
        return TabPFN(Z[np.ix_(rows, columns)], y[rows], columns, passes, regression, random_state)

    def predict(self, Z: Array) -> Array:
        """Numbers, or the probability of every class."""
        if not len(self.columns) or len(np.unique(self.y)) == 1:
            return self._same(len(Z))
        ask = self._numbers if self.regression else self._probabilities
        blocks = [Z[k : k + BLOCK, self.columns] for k in range(0, len(Z), BLOCK)]
        with _torch_as_it_was(), warnings.catch_warnings():
            # Of running on a processor, and of names that later releases call otherwise.
            warnings.simplefilter("ignore")
            return np.concatenate([ask(block) for block in blocks]).astype(np.float64)

    def _same(self, n_rows: int) -> Array:
        if self.regression:
            return np.full(n_rows, self.y.mean())
        return np.tile(np.bincount(self.y) / len(self.y), (n_rows, 1))

    def _numbers(self, Z: Array) -> Array:
        version = VERSIONS["regression"]
        model = _numbers_package(version.folder).TabPFNRegressor(
            model_path=version.file,
            device="cpu",
            n_estimators=self.passes,
            random_state=self.random_state,
            n_jobs=1,
            ignore_pretraining_limits=True,
        )
        return model.fit(self.Z, self.y).predict(Z)

    def _probabilities(self, Z: Array) -> Array:
        import torch

        package, model, config = _classes_model(VERSIONS["classification"])
        rows = torch.tensor(np.concatenate([self.Z, Z])).float().unsqueeze(1)
        labels = torch.tensor(np.concatenate([self.y, np.zeros(len(Z))])).float().unsqueeze(1)
        found = package.transformer_predict(
            model,
            rows,
            labels,
            len(self.y),
            inference_mode=True,
            feature_shift_decoder=True,
            N_ensemble_configurations=self.passes,
            seed=self.random_state,
            **package.get_params_from_config(config),
        )
        return found.squeeze(0).numpy()


def _varies(column: Array) -> bool:
    return len(np.unique(column[~np.isnan(column)])) > 1


def _drawn_rows(
    y: NDArray[Any], most: int, regression: bool, rng: np.random.Generator
) -> NDArray[np.intp]:
    """All rows, or `most` of them at random, with at least one of every class."""
    if len(y) <= most:
        return np.arange(len(y))
    order = rng.permutation(len(y))
    if not regression:
        first = np.unique(y[order], return_index=True)[1]
        order = np.concatenate([order[first], np.delete(order, first)])
    return np.sort(order[:most])


@contextmanager
def _torch_as_it_was() -> Iterator[None]:
    """One thread in this block, whose seed and number of threads are gone after it."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1), torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_num_threads(before)


_lock = threading.Lock()


@contextmanager
def _importing(folder: Path) -> Iterator[None]:
    """Here `tabpfn` is the package in this folder.

    Both versions have that name, so each leaves `sys.modules` after its import. They are older than
    the scikit-learn and torch that we use: two names that these no longer have are lent to them.
    """
    lent = (
        ("sklearn.utils.validation", "_is_pandas_df", lambda X: hasattr(X, "iloc")),
        ("torch.nn.modules.transformer", "Optional", typing.Optional),
    )
    with _lock, ExitStack() as undo:
        others = _taken_out()
        undo.callback(sys.modules.update, others)
        undo.callback(_taken_out)
        sys.path.insert(0, str(folder))
        undo.callback(sys.path.remove, str(folder))
        for module, name, value in lent:
            place = import_module(module)
            if not hasattr(place, name):
                setattr(place, name, value)
                undo.callback(delattr, place, name)
        undo.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        invalidate_caches()
        yield


def _taken_out() -> dict[str, Any]:
    names = [name for name in sys.modules if name.partition(".")[0] == "tabpfn"]
    return {name: sys.modules.pop(name) for name in names}


@cache
def _numbers_package(folder: Path) -> Any:
    with _importing(folder):
        return import_module("tabpfn")


@cache
def _classes_model(version: Version) -> tuple[Any, Any, dict[str, Any]]:
    """The module that predicts, the network and its settings."""
    with _importing(version.folder):
        package: Any = import_module("tabpfn.scripts.transformer_prediction_interface")
        # It saves memory for gradients, which nobody asks for here, and warns with torch of today.
        package.checkpoint = lambda function, *given: function(*given)
    (_, _, model), config = package.load_model_only_inference(
        str(version.folder), version.weights, "cpu"
    )
    return package, model, config
