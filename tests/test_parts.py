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
from dapdag.data.sample import Sample, learn_table
from dapdag.datasets import make_regression_domains
from dapdag.graph import extract_dag
from dapdag.inference import environment
from dapdag.inference.fitted import EnvPosterior
from dapdag.inference.parts import ALL, AT_PREDICTION, Parts, current, using
from dapdag.inference.recalibration import Prevalence
from dapdag.inference.stacking import stacking_weights
from dapdag.model import LabelNetworks
from dapdag.model.constants import AVERAGE_STEPS, STACK_GRID
from dapdag.model.parameters import slices_of
from dapdag.training import loop
from dapdag.training.assemble import assemble
from dapdag.training.build import reduced
from dapdag.training.problem import state_from
from dapdag.training.settings import Settings

NAMES = [f.name for f in fields(Parts)]


def off(name):
    return Parts(**{name: False})


@functools.cache
def assembled(parts=ALL):
    """Problem, trainer and plan of a small regression; nothing is compiled."""
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
    settings = Settings(parts=parts)
    problem, trainer, plan = assemble([sample], [learn_table(sample)], settings, [0])
    return problem, trainer, replace(plan, groups=(0,))


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
    with using(off("stop_gradient")):
        assert Settings().parts == DAPDAGRegressor()._settings().parts == off("stop_gradient")
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
    assert (
        trainer.sizes.squares_env
        and trainer.average_steps == AVERAGE_STEPS
        and plan.stack_at is not None
    )
    assert assembled(off("env_squared_inputs"))[1].sizes.squares_env is False
    assert assembled(off("stop_gradient"))[1].formulation.label_teaches_env
    assert not trainer.formulation.label_teaches_env
    assert assembled(off("weight_average"))[1].average_steps == 1.0
    assert assembled(off("label_rate"))[0].schedule.label_rate == 1.0 != problem.schedule.label_rate
    assert (
        assembled(off("acyclicity_growth"))[0].schedule.penalty_growth
        == 1.0
        != problem.schedule.penalty_growth
    )
    assert assembled(off("min_steps"))[2].steps < plan.steps
    pooled = assembled(off("pooled_networks"))[0].stack_weights[0]
    np.testing.assert_allclose(pooled, [0.25] * 4 + [0.0] * 4)
    together, _, unstacked = assembled(off("cross_fitting"))
    assert together.in_fold.all() and not problem.in_fold.all()
    assert unstacked.stack_at is None


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


def test_switches_of_the_stacking_weight():
    rng = np.random.default_rng(0)
    slight = -0.01 * STACK_GRID + rng.normal(size=(1, 8, 1)) * STACK_GRID * 0.1
    slight -= slight.mean(1, keepdims=True) + 0.01 * STACK_GRID  # E helps a little, not everywhere

    def share(losses, parts):
        return stacking_weights(losses, 4, 4, parts)[:4].sum()

    assert share(slight, off("stacking_weight")) == pytest.approx(0.5)
    assert share(slight, off("pooled_networks")) == pytest.approx(1.0)
    lost = np.repeat(-0.2 * STACK_GRID[None, None], 8, axis=1)
    lost[0, 0] = 100 * STACK_GRID  # one source that E predicts badly
    assert share(lost, off("source_cap")) < share(lost, ALL)


def a_run(parts):
    """A training that is under way: weights 0 at the beginning, 1 at their best, 2 now."""
    problem, trainer, plan = assembled(parts)
    size = jax.eval_shape(trainer.start, jax.random.key(0)).vector.shape
    state = jax.tree.map(
        lambda a: np.asarray(a)[None], state_from(jnp.zeros(size), jax.random.key(0))
    )
    ones = np.ones((1, *size), dtype=np.float32)
    state = replace(
        state, vector=2 * ones, average=2 * ones, best=ones, best_loss=np.zeros(1, np.float32)
    )
    history = np.zeros((1, 0, len(trainer.terms) + 1))
    slices = slices_of(trainer.sizes)
    own = slices.mask(slices.label, size[0])
    compiler = loop.BackgroundCompiler([])
    return loop._Run(trainer, problem, state, 0 * ones, plan, history, compiler, np.ones(1)), own


def test_switches_of_the_training_under_way(monkeypatch):
    def label_weights(name, act):
        found = []
        for parts in (ALL, off(name)):
            run, own = a_run(parts)
            act(run)
            found.append(float(run.state.average[0, own].mean()))
        return found

    assert label_weights("shrink_restart", lambda run: run.shrink_label_networks()) == [1.0, 2.0]
    assert label_weights("restore_best_midway", lambda run: run._restore_label_networks()) == [
        1.0,
        2.0,
    ]

    variables = len(assembled()[0].parents[0])
    nothing = np.zeros((1, variables, variables))
    dag = extract_dag(nothing[0], 0.1)
    structure = loop.Structure(nothing, nothing, [dag])
    monkeypatch.setattr(loop, "measure", lambda *_: (nothing, nothing, nothing[:, 0]))
    for parts in (ALL, off("freeze_encoder"), off("restore_best_at_end")):
        run, own = a_run(parts)
        run._masked(structure)
        assert run.problem.encoder_frozen.all() == parts.freeze_encoder
        run.structure, run.left_out = structure, loop.LeftOut.nothing()
        ended = run.result(interrupted=False).vectors[0, own].mean()
        assert ended == (1.0 if parts.restore_best_at_end else 2.0)


def test_a_model_with_all_on_stays_as_it_is():
    model, _ = small_fit()
    assert reduced(model, ALL) is model


def test_switches_of_prediction_put_neutral_constants():
    model, _ = small_fit()
    model = replace(model, inflation=2.0, missing=model.missing._replace(penalty=np.ones(7)))
    assert reduced(model, off("variance_inflation")).inflation == 1.0
    assert not reduced(model, off("missing_cost")).missing.penalty.any()
    # So few rows are held out here that the learned scale was kept: it comes back.
    other = replace(model, label_scale=model.label_scale + 7.0)
    np.testing.assert_allclose(reduced(other, off("heldout_noise")).label_scale, model.label_scale)
    classes = replace(model, prevalence=Prevalence(np.full(2, 0.5), np.zeros(2), slope=0.3))
    assert reduced(classes, off("prevalence_slope")).prevalence.slope == 1.0
    assert (reduced(classes, off("missing_cost")).missing.penalty == 1.0).all()


def test_switches_of_where_e_lies():
    model, far = small_fit()
    low, high = model.source_span
    q = EnvPosterior(high + 50 * (high - low), np.full_like(high, 1e-12))
    points = q.mean[:, None]
    assert (environment.clip_to_range(model, points) < points).all()
    assert environment.clip_to_range(reduced(model, off("env_clipping")), points) is points
    assert environment.refine(model, far, q) is not q
    assert environment.refine(reduced(model, off("map_refinement")), far, q) is q
    assert environment.draws_of(model, q).shape[1] == 1
    assert environment.draws_of(reduced(model, off("narrow_mean")), q).shape[1] > 1
