"""Sites whose features no E explains."""

import warnings

import numpy as np
import pandas as pd
import pytest

import dapdag
from dapdag import DAPDAGRegressor
from dapdag.inference.novelty import is_novel, worst_source_losses
from dapdag.model.constants import NOVEL_ABOVE
from dapdag.warnings import OutsideWarning

FEATURES = ["x", "z", "v"]
SMALL = {"n_members": 2, "hidden": 8, "max_epochs": 60, "random_state": 0}


def sites(envs, n=150, seed=0, broken=False):
    """E moves x and y; z follows x, unless that is broken; y follows v."""
    rng = np.random.default_rng(seed)
    parts = []
    for code, env in enumerate(envs):
        x = env + rng.normal(size=n)
        z = (-2 if broken else 1) * x + 0.3 * rng.normal(size=n)
        v = rng.normal(size=n)
        y = v + env + 0.3 * rng.normal(size=n)
        parts.append(pd.DataFrame({"x": x, "z": z, "v": v, "y": y, "site": code}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def model():
    table = sites(np.linspace(-1.5, 1.5, 8))
    est = DAPDAGRegressor(**SMALL)
    return est.fit(table[FEATURES], table["y"], sample_domain=table["site"])


def test_a_new_site_within_the_range_of_the_sources_is_not_novel(model):
    new = sites([0.3], seed=5)[FEATURES]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not model.environment(new)["outside"].iloc[0]
    assert (model.unexplained(new).iloc[0].dropna() < 0.5).all()


def test_a_site_counts_as_outside_only_if_that_is_nearly_certain(model):
    high = model.source_environments_["E1_mean"].max()
    with pytest.warns(OutsideWarning, match="of sites like the 8 sources, about 22% do"):
        far = model.environment(sites([2.6], seed=5)[FEATURES])
    assert far["outside"].iloc[0] and far["E1_mean"].iloc[0] > high
    with pytest.warns(OutsideWarning, match="too few rows to tell whether 'new' lies outside"):
        near = model.environment(sites([1.9], seed=5)[FEATURES])
    assert near["E1_mean"].iloc[0] > high and not near["outside"].iloc[0]


def test_few_rows_say_little_about_e(model):
    rows = sites([1.2], seed=5)[FEATURES]
    sd = [model.environment(rows.iloc[:n])["E1_sd"].iloc[0] for n in (1, 10, 150)]
    assert sd[0] > sd[1] > sd[2]
    assert sd[0] > 0.8 > 0.4 > sd[2]


def test_a_feature_with_another_equation_is_flagged_by_name(model):
    new = sites([0.3], seed=5, broken=True)[FEATURES]
    found = model.unexplained(new)
    assert list(found.columns) == FEATURES
    assert found.index.tolist() == ["new"]
    unlike = set(found.columns[(found.iloc[0] > NOVEL_ABOVE).to_numpy()])
    assert unlike and unlike <= {"x", "z"}
    with pytest.warns(UserWarning, match="out of distribution in '[xz]'.*, whatever its E"):
        assert model.environment(new)["outside"].iloc[0]


def test_novelty_is_computed_per_site(model):
    table = pd.concat([sites([0.3], seed=5), sites([0.3], seed=5, broken=True)])
    name = np.repeat(["sound", "broken"], 150)
    with pytest.warns(UserWarning, match="the domain 'broken' is out of distribution"):
        found = model.environment(table[FEATURES], name)["outside"]
    assert found.to_dict() == {"sound": False, "broken": True}


def test_many_novel_sites_are_counted_not_listed(model):
    table = sites([0.3] * 7, n=60, broken=True)
    with pytest.warns(UserWarning, match="out of distribution") as caught:
        found = model.environment(table[FEATURES], table["site"].to_numpy())
    assert found["outside"].all()
    said = [str(w.message) for w in caught]
    assert sum("the domain" in text for text in said) == 5
    assert "2 more domains are out of distribution" in said


def test_a_single_row_is_not_flagged_as_novel(model):
    alone = sites([0.3], n=1, seed=5, broken=True)[FEATURES]
    assert not is_novel(model.unexplained(alone).to_numpy())[0]


def test_a_feature_that_is_missing_at_a_site_has_no_novelty(model):
    new = sites([0.3], seed=5, broken=True)[FEATURES].assign(z=np.nan)
    assert np.isnan(model.unexplained(new)["z"].iloc[0])


def test_it_survives_saving(model, tmp_path):
    model.save(tmp_path / "m.dapdag")
    new = sites([0.3], seed=5, broken=True)[FEATURES]
    again = dapdag.load(tmp_path / "m.dapdag").unexplained(new)
    pd.testing.assert_frame_equal(again, model.unexplained(new))


def test_features_without_a_source_loss_are_never_novel():
    losses = np.full((2, 3, 3), np.nan)
    losses[0, 0, 0], losses[1, 0, 0], losses[0, 2, 0] = 1.0, 2.0, 1.2
    losses[:, :, 2] = 0.5
    parents = np.zeros((4, 4))
    parents[3, 2] = 1  # the label is a parent of the third feature
    np.testing.assert_array_equal(worst_source_losses(losses, parents), [1.5, np.inf, np.inf])
