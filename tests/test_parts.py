"""Every mechanism beyond the paper has a switch, and the switch does what it says."""

import functools
import importlib.util
from dataclasses import fields, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dapdag.fitting import reduced
from dapdag.levels import Levels
from dapdag.settings import Settings
from dapdag.trained import EnvPosterior
from dapdag.training.trust import SHARES, trust_of

from dapdag import DAPDAGClassifier, DAPDAGRegressor, inference
from dapdag.datasets import make_regression_domains
from dapdag.inference.parts import ALL, AT_PREDICTION, Parts, current, using
from dapdag.model.predictor import Predictor
from dapdag.training import loop
from dapdag.training.step import HORIZON, in_predictor, state_from

NAMES = [f.name for f in fields(Parts)]


def off(name):
    return Parts(**{name: False})


@functools.cache
def assembled(parts=ALL):
    """Problem, configuration and plan of a small regression; nothing is compiled."""
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
    problem, config, n_train = assemble.assemble([sample], [learn_table(sample)], settings, [0])
    return problem, config, replace(assemble.make_plan(settings, config, n_train, 1), groups=(0,))


@functools.cache
def small_fit():
    """A model of four sites, and the rows of one far from them."""
    data = make_regression_domains(n_domains=4, n_samples=60, random_state=0)
    est = DAPDAGRegressor(n_members=1, max_epochs=10)
    est.fit(data.X, data.y, sample_domain=data.sample_domain)
    return est._fit_.model, data.X[data.sample_domain == 0] + 5.0


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
    problem, config, plan = assembled()
    assert config.sizes.squares_env and config.horizon == HORIZON and plan.judge is not None
    assert assembled(off("env_squared_inputs"))[1].sizes.squares_env is False
    assert assembled(off("stop_gradient"))[1].formulation.label_teaches_env
    assert not config.formulation.label_teaches_env
    assert assembled(off("weight_average"))[1].horizon == 1.0
    assert assembled(off("label_rate"))[0].schedule.haste == 1.0 != problem.schedule.haste
    assert assembled(off("acyclicity_growth"))[0].schedule.growth == 1.0 != problem.schedule.growth
    assert assembled(off("min_steps"))[2].steps < plan.steps
    pooled = assembled(off("pooled_networks"))[0].trust[0]
    np.testing.assert_allclose(pooled, [0.25] * 4 + [0.0] * 4)
    together, _, never_judged = assembled(off("cross_fitting"))
    assert together.lessons.all() and not problem.lessons.all()
    assert never_judged.judge is None


@pytest.mark.parametrize("squares", [True, False])
def test_squares_of_e_act_only_with_their_switch(squares):
    problem, config, _ = assembled()
    layout = jax.tree.map(lambda leaf: leaf[0], problem.layout)
    zeros = Predictor.zeros(2, 1, config.sizes.inputs, 1, 4, 1, 1, squares_env=squares)
    heads = jnp.zeros_like(zeros.env_heads).at[..., 1].set(1.0)  # of E² alone
    predictor = replace(zeros, env_heads=heads)
    votes = predictor.predict(layout, jnp.ones((1, config.sizes.inputs)), jnp.array([[0.5], [2.0]]))
    np.testing.assert_allclose(votes[:, 0, 0, 0], [0.25, 4.0] if squares else [0.0, 0.0])


def test_switches_of_the_stacking_weight():
    rng = np.random.default_rng(0)
    slight = -0.01 * SHARES + rng.normal(size=(1, 8, 1)) * SHARES * 0.1
    slight -= slight.mean(1, keepdims=True) + 0.01 * SHARES  # E helps a little, not everywhere

    def share(losses, parts):
        return trust_of(losses, 4, 4, parts)[:4].sum()

    assert share(slight, off("stacking_margin")) > share(slight, ALL)
    assert share(slight, off("stacking_weight")) == pytest.approx(0.5)
    assert share(slight, off("pooled_networks")) == pytest.approx(1.0)
    lost = np.repeat(-0.2 * SHARES[None, None], 8, axis=1)
    lost[0, 0] = 100 * SHARES  # one source that E predicts badly
    assert share(lost, off("source_cap")) < share(lost, ALL)


def a_run(parts):
    """A training that is under way: weights 0 at the beginning, 1 at their best, 2 now."""
    problem, config, plan = assembled(parts)
    size = jax.eval_shape(config.start, jax.random.key(0)).vector.shape
    state = jax.tree.map(
        lambda a: np.asarray(a)[None], state_from(jnp.zeros(size), jax.random.key(0))
    )
    ones = np.ones((1, *size), dtype=np.float32)
    state = replace(
        state, vector=2 * ones, average=2 * ones, best=ones, best_loss=np.zeros(1, np.float32)
    )
    history = np.zeros((1, 0, len(config.terms) + 1))
    own = in_predictor(config.sizes, size[0])
    ahead = loop.Ahead([])
    return loop._Run(config, problem, state, 0 * ones, plan, history, ahead, np.ones(1)), own


def test_switches_of_the_training_under_way(monkeypatch):
    def label_weights(name, act):
        found = []
        for parts in (ALL, off(name)):
            run, own = a_run(parts)
            act(run)
            found.append(float(run.state.average[0, own].mean()))
        return found

    assert label_weights("shrink_restart", lambda run: run.begin_anew()) == [1.0, 2.0]
    assert label_weights("restore_best_midway", lambda run: run._restore_predictors()) == [1.0, 2.0]

    variables = len(assembled()[0].parents[0])
    nothing = np.zeros((1, variables, variables))
    dag = loop.extract_dag(nothing[0], 0.1)
    structure = loop.Structure(nothing, nothing, [dag])
    monkeypatch.setattr(loop, "measure", lambda *_: (nothing, nothing, nothing[:, 0]))
    for parts in (ALL, off("freeze_encoder"), off("restore_best_at_end")):
        run, own = a_run(parts)
        run._settled(structure)
        assert run.problem.rests.all() == parts.freeze_encoder
        run.structure, run.unseen = structure, loop.Unseen.nothing()
        ended = run.result(interrupted=False).vectors[0, own].mean()
        assert ended == (1.0 if parts.restore_best_at_end else 2.0)


def test_a_model_with_all_on_stays_as_it_is():
    model, _ = small_fit()
    assert reduced(model, ALL) is model


def test_switches_of_prediction_put_neutral_constants():
    model, _ = small_fit()
    model = replace(model, growth=2.0, lacking=model.lacking._replace(cost=np.ones(7)))
    assert reduced(model, off("variance_inflation")).growth == 1.0
    assert not reduced(model, off("missing_cost")).lacking.cost.any()
    # So few rows are held out here that the learned scale was kept: it comes back.
    other = replace(model, label_scale=model.label_scale + 7.0)
    np.testing.assert_allclose(reduced(other, off("heldout_noise")).label_scale, model.label_scale)
    classes = replace(model, levels=Levels(np.full(2, 0.5), np.zeros(2), belief=0.3))
    assert reduced(classes, off("prevalence_slope")).levels.belief == 1.0
    assert (reduced(classes, off("missing_cost")).lacking.cost == 1.0).all()


def test_switches_of_where_e_lies():
    model, far = small_fit()
    model = replace(model, trust=np.repeat([0.2, 0.05], 4))
    low, high = model.source_span
    q = EnvPosterior(high + 50 * (high - low), np.full_like(high, 1e-12))
    points = q.mean[:, None]
    assert (environment.bounded(model, points) < points).all()
    assert environment.bounded(reduced(model, off("env_clipping")), points) is points
    assert prediction.trust_at(model, q)[4:].sum() == 0.0
    kept = prediction.trust_at(reduced(model, off("weight_by_distance")), q)
    np.testing.assert_allclose(kept, model.trust)
    assert environment.located(model, far, q) is not q
    assert environment.located(reduced(model, off("map_refinement")), far, q) is q
    assert inference.draws_of(model, q).shape[1] == 1
    assert inference.draws_of(reduced(model, off("narrow_mean")), q).shape[1] > 1
