"""Every mechanism beyond the paper has a switch, and the switch does what it says."""

import functools
import importlib.util
from dataclasses import fields, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.data.layout import encode
from dapdag.data.sample import Sample, learn_table
from dapdag.datasets import make_regression_domains
from dapdag.inference import environment
from dapdag.inference.fitted import EnvPosterior
from dapdag.inference.parts import ALL, AT_PREDICTION, Parts, current, using
from dapdag.inference.recalibration import Calibration
from dapdag.inference.row_noise import RowNoise
from dapdag.model import LabelNetworks
from dapdag.model.constants import AVERAGE_STEPS
from dapdag.training.assemble import Data, label_stage
from dapdag.training.build import reduced
from dapdag.training.graph import FoundGraph
from dapdag.training.settings import Settings

NAMES = [f.name for f in fields(Parts)]


def off(name):
    return Parts(**{name: False})


@functools.cache
def assembled(parts=ALL):
    """The label's stage of a small regression; nothing is compiled."""
    data = make_regression_domains(n_domains=3, n_samples=40, random_state=0)
    sample = Sample(
        X=data.X,
        y=data.y.to_numpy(),
        domain=data.sample_domain,
        domain_labels=(0, 1, 2),
        n_sources=3,
        label_name="Y",
        classes=None,
    )
    d = data.X.shape[1] + 1
    graph = FoundGraph(np.zeros((d, d), dtype=bool), np.zeros((d, d)), np.zeros((d, 6)))
    settings = Settings(parts=parts)
    made = label_stage(Data.of([sample], [learn_table(sample)], settings, [0], [graph]))
    return made.problem, made.trainer, made.plan


@functools.cache
def small_fit():
    """A model of four sites, and the rows of one far from them."""
    data = make_regression_domains(n_domains=4, n_samples=60, random_state=0)
    est = DAPDAGRegressor(n_members=1, max_epochs=10)
    est.fit(data.X, data.y, sample_domain=data.sample_domain)
    return est.fitted_.model, data.X[data.sample_domain == 0] + 5.0


def test_all_are_on_unless_a_fit_stands_inside_using():
    assert all(getattr(Parts(), name) is True for name in NAMES)
    assert Settings().parts == current() == ALL == Parts()
    with using(off("source_cap")):
        assert Settings().parts == DAPDAGRegressor()._settings().parts == off("source_cap")
    assert current() == ALL


@pytest.mark.parametrize("estimator", [DAPDAGRegressor(), DAPDAGClassifier()])
def test_no_estimator_has_a_parameter_for_them(estimator):
    assert not {"parts", *NAMES} & set(estimator.get_params())


def test_every_switch_has_a_row_in_the_benchmark():
    path = Path(__file__).parents[1] / "benchmarks" / "parts.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_parts", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    public = {name for name, part in module.PARTS.items() if part.settings}
    assert set(module.PARTS) - public == set(NAMES)
    assert set(AT_PREDICTION) <= set(NAMES)


def test_switches_of_what_is_assembled():
    problem, trainer, plan = assembled()
    assert trainer.sizes.squares_env and trainer.average_steps == AVERAGE_STEPS
    assert assembled(off("env_squared_inputs"))[1].sizes.squares_env is False
    assert assembled(off("weight_average"))[1].average_steps == 1.0
    assert assembled(off("label_rate"))[0].schedule.label_rate == 1.0 != problem.schedule.label_rate
    assert assembled(off("min_steps"))[2].steps < plan.steps


@pytest.mark.parametrize("squares", [True, False])
def test_squares_of_e_act_only_with_their_switch(squares):
    problem, trainer, _ = assembled()
    layout = jax.tree.map(lambda leaf: leaf[0], problem.layout)
    zeros = LabelNetworks.zeros(2, 1, trainer.sizes.inputs, 1, 4, 1, 1, squares_env=squares)
    heads = jnp.zeros_like(zeros.env_heads).at[..., 1].set(1.0)  # of E² alone
    networks = replace(zeros, env_heads=heads)
    outputs = networks.outputs(
        layout, jnp.ones((1, trainer.sizes.inputs)), jnp.array([[0.5], [2.0]])
    )
    np.testing.assert_allclose(outputs[:, 0, 0, 0], [0.25, 4.0] if squares else [0.0, 0.0])


def test_a_model_with_all_on_stays_as_it_is():
    model, _ = small_fit()
    assert reduced(model, ALL) is model


def test_switches_of_prediction_put_neutral_constants():
    model, _ = small_fit()
    model = replace(
        model,
        calibration=Calibration(np.zeros(1), slope=0.3, tau2=0.1, ratio=2.0, n_sites=3),
        missing=model.missing._replace(penalty=np.ones_like(model.missing.penalty)),
    )
    neutral = reduced(model, off("between_sites")).calibration
    assert neutral.ratio == 1.0 and neutral.between == 0.0 and neutral.slope == 0.3
    assert reduced(model, off("site_slope")).calibration.slope == 1.0
    noisy = replace(model.calibration, row_noise=RowNoise(np.zeros(1), np.ones(1)))
    steady = reduced(replace(model, calibration=noisy), off("row_noise")).calibration
    assert steady.row_noise.factor(np.zeros(1)) == 1.0
    assert not reduced(model, off("missing_cost")).missing.penalty.any()
    # So few rows are held out here that the learned scale was kept: it comes back.
    other = replace(model, label_scale=model.label_scale + 7.0)
    np.testing.assert_allclose(reduced(other, off("heldout_noise")).label_scale, model.label_scale)
    ruled = reduced(model, off("referee")).rules
    assert model.rules.has_referee and not ruled.has_referee and ruled.estimates_effects
    assert not reduced(model, off("site_effects")).rules.estimates_effects
    classes = replace(model, calibration=Calibration(np.zeros(2), overall=np.full(2, 0.5)))
    assert (reduced(classes, off("missing_cost")).missing.penalty == 1.0).all()


def test_switches_of_where_e_lies():
    model, far = small_fit()
    low, high = model.source_span
    q = EnvPosterior(high + 50 * (high - low), np.full_like(high, 1e-12))
    points = q.mean[:, None]
    rows = encode(model.table, *model.table.encode(far), None)
    assert (environment.clip_to_range(model, points) < points).all()
    assert environment.clip_to_range(reduced(model, off("env_clipping")), points) is points
    assert environment.refine(model, rows, len(far), q) is not q
    assert environment.refine(reduced(model, off("map_refinement")), rows, len(far), q) is q
    assert environment.draws_of(model, q).shape[1] == 1
    assert environment.draws_of(reduced(model, off("narrow_mean")), q).shape[1] > 1
