"""A saved estimator comes back as it was, and nothing else comes back as an estimator."""

import copy
import hashlib
import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dapdag
from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.persistence import FORMAT_VERSION, load, save
from dapdag.storage.scalars import decode_scalar, encode_scalar

SMALL = {"hidden": 4, "max_epochs": 10, "n_members": 2, "n_draws": 4, "steps": 2}
SITES = np.repeat(["Oslo", "Łódź", "Rome"], 40)


def features(seed: int = 0, n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(size=n)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "dose": age + rng.exponential(size=n),
            "ward": pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "smokes": rng.random(n) < 0.5,
        }
    )


def label(X: pd.DataFrame) -> pd.Series:
    return (X["dose"] + (X["ward"] == "a")).rename("outcome")


def classes(X: pd.DataFrame, levels: Any) -> np.ndarray:
    rank = label(X).rank(pct=True, method="first").to_numpy()
    return np.asarray(levels)[np.minimum((rank * len(levels)).astype(int), len(levels) - 1)]


@pytest.fixture(scope="module")
def regressor() -> DAPDAGRegressor:
    X = features()
    est = DAPDAGRegressor(**SMALL, prior_precision=np.float32(0.5), random_state=np.int64(3))
    return est.fit(X, label(X), sample_domain=SITES)


@pytest.fixture(scope="module")
def binary() -> DAPDAGClassifier:
    X = features()
    est = DAPDAGClassifier(**SMALL, bayesian=False, random_state=np.random.RandomState(0))
    return est.fit(X.to_numpy(dtype=object), classes(X, [False, True]), np.repeat([4, 7, 9], 40))


@pytest.fixture(scope="module")
def multiclass() -> DAPDAGClassifier:
    X = features().rename(columns={"age": 1, "dose": 2, "ward": 3, "smokes": 4})
    y = classes(features(), ["low", "mid", "higher"])
    return DAPDAGClassifier(**SMALL, structure="paper").fit(X, y, SITES)


@pytest.fixture(params=["regressor", "binary", "multiclass"])
def fitted(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def saved(regressor: DAPDAGRegressor, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "model.dapdag"
    regressor.save(path)
    return path.read_bytes()


def again(est: Any, folder: Path) -> Any:
    est.save(folder / "model.dapdag")
    return load(folder / "model.dapdag")


def input_of(est: Any) -> Any:
    X = features(seed=1)
    if not hasattr(est, "feature_names_in_"):
        names = est.fitted_.model.table.names[:-1]
        return X.to_numpy(dtype=object) if names[0] == "x0" else X.set_axis(names, axis=1)
    return X


def assert_same(a: Any, b: Any) -> None:
    """Equal in value and in type, all the way down."""
    assert type(a) is type(b)
    if is_dataclass(a):
        for field in fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name))
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert_array_equal(a, b)
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    else:
        assert a == b


def test_predictions_are_the_same_to_the_bit(fitted: Any, tmp_path: Path) -> None:
    loaded, X = again(fitted, tmp_path), input_of(fitted)
    assert type(loaded) is type(fitted)
    assert_same(loaded.predict(X), fitted.predict(X))
    assert_same(loaded.predict(X, SITES), fitted.predict(X, SITES))
    if isinstance(fitted, DAPDAGRegressor):
        assert_same(loaded.predict(X, return_std=True), fitted.predict(X, return_std=True))
    else:
        assert_same(loaded.predict_proba(X), fitted.predict_proba(X))
        assert_same(loaded.classes_, fitted.classes_)


def test_what_was_learned_is_the_same(fitted: Any, tmp_path: Path) -> None:
    loaded, X = again(fitted, tmp_path), input_of(fitted)
    assert_same(loaded.fitted_, fitted.fitted_)
    assert_same(loaded.environment(X, SITES), fitted.environment(X, SITES))
    assert_same(loaded.sample_environment(X, 5), fitted.sample_environment(X, 5))
    for name in ("adjacency_", "history_", "source_environments_", "n_epochs_", "n_features_in_"):
        assert_same(getattr(loaded, name), getattr(fitted, name))
    assert nx.utils.graphs_equal(loaded.graph_, fitted.graph_)
    assert list(loaded.graph_) == list(fitted.graph_)
    assert loaded.graph_.graph == fitted.graph_.graph
    assert hasattr(loaded, "feature_names_in_") == hasattr(fitted, "feature_names_in_")


def test_parameters_keep_their_values_and_types(
    regressor: DAPDAGRegressor, binary: DAPDAGClassifier, tmp_path: Path
) -> None:
    before, after = regressor.get_params(), again(regressor, tmp_path).get_params()
    assert before == after
    assert {k: type(v) for k, v in before.items()} == {k: type(v) for k, v in after.items()}
    assert again(binary, tmp_path).random_state is None


def test_a_given_graph_keeps_its_nodes_edges_and_their_types(
    regressor: DAPDAGRegressor, tmp_path: Path
) -> None:
    graph = nx.DiGraph([("age", "outcome"), (3, "3"), (np.int64(5), "outcome")])
    graph.add_node("ward")
    est = clone(regressor).set_params(structure=graph)
    est._adopt(regressor.fitted_, regressor.sources_)
    found = again(est, tmp_path).structure
    assert type(found) is nx.DiGraph
    assert list(found) == list(graph) and set(found.edges) == set(graph.edges)
    assert [type(node) for node in found] == [type(node) for node in graph]


def test_saving_again_gives_the_same_bytes(regressor: Any, saved: bytes, tmp_path: Path) -> None:
    again(regressor, tmp_path).save(tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == saved


def test_loaded_estimator_can_be_cloned_and_fitted_again(
    regressor: DAPDAGRegressor, tmp_path: Path
) -> None:
    X = features()
    refitted = clone(again(regressor, tmp_path)).fit(X, label(X), sample_domain=SITES)
    assert_same(refitted.predict(X), regressor.predict(X))


@pytest.mark.parametrize(
    "levels",
    [
        np.array(["x", "longer"]),
        np.array(["x", "longer"], dtype=object),
        np.array([2, 5], dtype=np.int8),
        np.array([1.5, -2.0]),
        np.array([False, True]),
    ],
    ids=lambda levels: levels.dtype.str,
)
def test_classes_keep_their_dtype(binary: DAPDAGClassifier, levels: Any, tmp_path: Path) -> None:
    relabelled = clone(binary)
    model = binary.fitted_.model
    table = replace(model.table, label=replace(model.table.label, levels=tuple(levels)))
    relabelled._adopt(replace(binary.fitted_, model=replace(model, table=table)), (4, 7, 9))
    loaded = again(relabelled, tmp_path)
    assert_same(loaded.classes_, relabelled.classes_)
    assert_same(loaded.fitted_.model.table.label, table.label)


@pytest.mark.parametrize(
    "value",
    [
        *("text", "Łódź \ud800", 3, -(10**30), 0.1, np.inf, True, None),
        *(np.str_("a"), np.bool_(True), np.int16(-4), np.uint64(2**64 - 1)),
        *(np.float32(0.1), np.float64(0.1), np.float32(-np.inf), np.float64(np.inf)),
    ],
    ids=repr,
)
def test_scalar_comes_back_with_its_type(value: Any) -> None:
    text = json.dumps(encode_scalar(value, "it"), allow_nan=False)
    assert_same(decode_scalar(json.loads(text)), value)


@pytest.mark.parametrize("value", [("a", 1), b"a", 1j, pd.Timestamp("2020-01-01")], ids=repr)
def test_other_scalar_is_named_in_the_error(value: Any) -> None:
    with pytest.raises(ValueError, match=r"column 3 is .*cannot be saved: only strings"):
        encode_scalar(value, "column 3")


def test_tuple_as_column_name_is_refused_and_no_file_appears(
    regressor: DAPDAGRegressor, tmp_path: Path
) -> None:
    model = regressor.fitted_.model
    odd = replace(model.table.features[0], name=("age", 1))
    table = replace(model.table, features=(odd, *model.table.features[1:]))
    est = clone(regressor)
    est._adopt(replace(regressor.fitted_, model=replace(model, table=table)), ("a", "b", "c"))
    with pytest.raises(ValueError, match=r"name of column 0 is \('age', 1\)"):
        est.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_tuple_as_domain_is_refused(regressor: DAPDAGRegressor, tmp_path: Path) -> None:
    est = clone(regressor)
    est._adopt(regressor.fitted_, (("a", 1), "b", "c"))
    with pytest.raises(ValueError, match=r"domain at position 0.*\('a', 1\)"):
        est.save(tmp_path / "model")


def test_only_known_estimators_are_saved(regressor: DAPDAGRegressor, tmp_path: Path) -> None:
    class Mine(DAPDAGRegressor):
        pass

    mine = Mine(**SMALL)
    mine._adopt(regressor.fitted_, ("a", "b", "c"))
    with pytest.raises(ValueError, match="cannot save a Mine: only DAPDAG"):
        save(mine, tmp_path / "model")
    with pytest.raises(NotFittedError):
        save(DAPDAGRegressor(), tmp_path / "model")


def test_missing_file_is_named(tmp_path: Path) -> None:
    assert dapdag.load is load
    with pytest.raises(FileNotFoundError, match=r"no model at .*absent"):
        load(tmp_path / "absent")


def refused(data: bytes, folder: Path, reason: str = "") -> None:
    path = folder / "broken.dapdag"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"(?s)cannot load '.*broken\.dapdag': .*{reason}"):
        load(path)


def test_cut_file_is_refused(saved: bytes, tmp_path: Path) -> None:
    for length in np.unique(np.linspace(0, len(saved) - 1, 60).astype(int)):
        refused(saved[:length], tmp_path)
    refused(saved + b"\0", tmp_path, "bytes and should have")


def test_every_changed_byte_is_noticed(saved: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    header = 8 + int.from_bytes(saved[:8], "little")
    places = [*range(12), *rng.integers(header, size=150), *range(header - 8, header)]
    for at in (*places, *rng.integers(len(saved), size=150)):
        changed = bytearray(saved)
        changed[at] ^= int(rng.integers(1, 256))
        refused(bytes(changed), tmp_path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    refused(b"", tmp_path, "not a safetensors file")
    refused(b"age,dose\n1,2\n", tmp_path, "not a safetensors file")
    refused(b"[" * 100_000, tmp_path, "not a safetensors file")
    refused((100_000).to_bytes(8, "little") + b"[" * 100_000, tmp_path, "not a safetensors file")
    refused(save_tensors({"weights": np.zeros(3)}), tmp_path, "another program")
    refused(save_tensors({"a": np.zeros(3)}, {"format": "pt"}), tmp_path, "another program")
    refused(save_tensors({"a": np.zeros(3)}, {"dapdag": "[]"}), tmp_path, "header is damaged")
    refused(save_tensors({"a": np.zeros(3)}, {"dapdag": "{}"}), tmp_path, "not one of a dapdag")


def forged(data: bytes, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """The file with some of its content replaced (None: taken out), and a checksum that fits."""
    length = int.from_bytes(data[:8], "little")
    text = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["dapdag"])
    new = {k: v for k, v in (text | header | {"sha256": "0" * 64}).items() if v is not None}
    tensors = {k: v for k, v in (load_tensors(data) | arrays).items() if v is not None}
    blank = save_tensors(tensors, {"dapdag": json.dumps(new)})
    return blank.replace(b"0" * 64, hashlib.sha256(blank).hexdigest().encode(), 1)


def test_forging_nothing_gives_the_file_itself(saved: bytes) -> None:
    assert forged(saved, {}, {}) == saved


def test_newer_format_asks_for_an_upgrade(saved: bytes, tmp_path: Path) -> None:
    newer = FORMAT_VERSION + 1
    reason = (
        rf"written by a newer dapdag \(format {newer}\); "
        rf"this one reads up to {FORMAT_VERSION}: upgrade"
    )
    refused(forged(saved, {"format_version": newer}, {}), tmp_path, reason)


CALIBRATION = {"slope": 1.0, "tau2": 0.0, "ratio": 1.0, "n_sites": 3}


def test_a_file_that_says_nothing_of_row_noise_has_none(saved: bytes, tmp_path: Path) -> None:
    (tmp_path / "old.dapdag").write_bytes(forged(saved, {"calibration": CALIBRATION}, {}))
    calibration = load(tmp_path / "old.dapdag").fitted_.model.calibration
    assert (calibration.row_noise.factor(np.arange(3.0)) == 1).all()


@pytest.mark.parametrize(
    "header, arrays, reason",
    [
        ({}, {"vectors": np.zeros((2, 5), np.float32)}, "sizes|parameters"),
        ({}, {"source_mean": np.zeros((2, 4, 1))}, "expected 3 sources"),
        ({}, {"label_scale": np.zeros(3)}, "expected 2 members"),
        ({}, {"normal": np.zeros(4)}, "1 axes, not 2"),
        ({}, {"score_errors": np.zeros((3, 3))}, "expected 2 scores"),
        ({}, {"score_errors": -np.ones((3, 2))}, "errors of expected scores"),
        ({}, {"parents": np.zeros((8, 8), np.int32)}, "holds int32"),
        ({}, {"adjacency": None}, "'adjacency' is missing"),
        ({}, {"more": np.zeros(2)}, "'more' is unknown"),
        ({}, {"table.0.knots": np.zeros(3)}, "'age' has knots of shape"),
        ({}, {"table.0.knots": None}, "table.0.knots"),
        ({}, {"mask": np.ones((5, 5), bool)}, "cycle"),
        ({"removed": [[0, 9]]}, {}, "do not exist"),
        ({"estimator": "os.system"}, {}, "holds a os.system, dapdag"),
        ({"estimator": "DAPDAGClassifier"}, {}, "label is continuous"),
        ({"params": {"colour": 1}}, {}, "parameter 'colour'"),
        ({"params": {"hidden": [1]}}, {}, "does not stand for"),
        ({"params": {"hidden": {"type": "numpy.int8", "value": 300}}}, {}, "does not stand for"),
        ({"params": None}, {}, "no parameters"),
        ({"sizes": {}}, {}, "do not go together"),
        ({"table": None}, {}, "do not go together"),
        ({"table": {"features": [], "label": {"type": "discrete"}}}, {}, "do not go together"),
        ({"formulation": {"acyclicity": "eval"}}, {}, "unknown 'eval'"),
        ({"prior_precision": -1}, {}, "prior_precision is -1"),
        ({"prior_precision": {"type": "float", "value": "inf"}}, {}, "prior_precision is inf"),
        ({"params": {"learning_rate": {"type": "float", "value": "inf"}}}, {}, "rate is inf"),
        ({}, {"label_scale": np.full(2, np.nan)}, "'label_scale' holds numbers that are not"),
        ({}, {"normal": np.full((4, 1), np.inf)}, "'normal' holds numbers that are not finite"),
        ({"calibration": CALIBRATION | {"ratio": 0.5}}, {}, "calibration at new sites"),
        ({"calibration": CALIBRATION | {"tau2": -1.0}}, {}, "calibration at new sites"),
        ({"temperature": 9}, {}, "temperature is 9"),
        ({"label_range": [1.0, -1.0]}, {}, "label_range"),
        ({}, {"expert_weights": np.array([0.5, 0.6, 0.0])}, "weights of the experts"),
        ({}, {"effect_noise": np.zeros(9)}, "slots"),
        ({"calibration": CALIBRATION | {"slope": 2}}, {}, "calibration at new sites"),
        ({"calibration": CALIBRATION | {"row_noise": [[0.0], []]}}, {}, "noise of rows"),
        ({"calibration": CALIBRATION | {"row_noise": [[1, 0], [0, 0]]}}, {}, "do not increase"),
        ({"calibration": CALIBRATION | {"row_noise": [[0], [0], [0]]}}, {}, "noise of rows"),
        ({}, {"usual_level": np.zeros(3)}, "usual level"),
        ({"feature_names_in": ["a"]}, {}, "feature names"),
        ({"sources": ["Oslo"]}, {}, "sources"),
        ({"format": "pt"}, {}, "not one of a dapdag model"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_inconsistent_content_is_refused(
    saved: bytes, header: dict, arrays: dict, reason: str, tmp_path: Path
) -> None:
    refused(forged(saved, header, arrays), tmp_path, reason)


def test_absurd_sizes_are_not_laid_out(saved: bytes, tmp_path: Path) -> None:
    sizes = {"columns": 8, "variables": 6, "label_columns": 1, "hidden": 10**9}
    sizes |= {"env_dim": 1, "n_shared": 10**9, "n_predictors": 1}
    refused(forged(saved, {"sizes": sizes}, {}), tmp_path, "are impossible")


def test_a_file_that_is_no_model_is_refused_by_its_header(tmp_path: Path) -> None:
    """A hundred gigabytes that are never read: the file is sparse."""
    for head in (b"\0" * 8, (10**9).to_bytes(8, "little"), b"PK\x03\x04"):
        path = tmp_path / "huge"
        with path.open("wb") as file:
            file.write(head)
            file.truncate(10**11)
        with pytest.raises(ValueError, match="not a safetensors file"):
            load(path)


def test_longer_than_its_header_says_is_refused_unread(saved: bytes, tmp_path: Path) -> None:
    path = tmp_path / "huge"
    path.write_bytes(saved)
    with path.open("r+b") as file:
        file.truncate(10**11)
    with pytest.raises(ValueError, match="cannot load .*huge"):
        load(path)


def test_no_path_of_the_machine_is_in_the_file(regressor: DAPDAGRegressor, tmp_path: Path) -> None:
    est = copy.copy(regressor).set_params(checkpoint=str(tmp_path / "secret" / "fit.ckpt"))
    est.save(tmp_path / "model.dapdag")
    assert b"secret" not in (tmp_path / "model.dapdag").read_bytes()
    assert load(tmp_path / "model.dapdag").checkpoint is None
