"""Stages of training: what each learns, early stopping, lanes side by side."""

import warnings
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from training_cases import (
    ALONE,
    EPOCHS,
    HISTORY,
    SETTINGS,
    VALIDATION,
    A,
    B,
    assembled,
    chain,
    final_validation,
    keys,
    run,
    sample,
    stacked,
    start_of,
)

from dapdag._runtime.cache import compilation_cache
from dapdag.data.sample import learn_table
from dapdag.model.parameters import slices_of
from dapdag.training.assemble import Data
from dapdag.training.loop import Trained, train
from dapdag.training.run import best_of_members
from dapdag.warnings import TrainingWarning


@pytest.fixture(scope="module", autouse=True)
def kept_programs():
    """The next run of these tests finds the compiled programs."""
    with compilation_cache():
        yield


@pytest.fixture(scope="module")
def structure():
    return run("structure")


@pytest.fixture(scope="module")
def trained():
    return run()


def falls(history, *names):
    for name in names:
        column = history[:, HISTORY.index(name)]
        assert column[-5:].mean() < column[:5].mean() - 0.05, name


def test_the_structure_stage_learns_to_reconstruct(structure):
    (history,) = structure.history
    assert history.shape == (EPOCHS, len(HISTORY))
    assert np.isfinite(history).all()
    falls(history, "reconstruction", "validation")
    assert (history[:, HISTORY.index("prediction")] == 0).all()


def test_the_label_stage_learns_to_predict_and_learns_the_mechanisms(trained):
    (history,) = trained.history
    assert history.shape == (EPOCHS, len(HISTORY))
    assert np.isfinite(history).all()
    falls(history, "prediction", "reconstruction", "validation")


def test_the_label_stage_leaves_encoder_and_decoder_as_they_are(structure, trained):
    slices = slices_of(assembled()[1].sizes)
    first = slice(0, slices.label.start)
    # another program draws the same numbers to the last bit but one
    np.testing.assert_allclose(trained.vectors[0, first], start_of("label")[first], rtol=1e-6)
    going_on = run(start=structure.vectors, max_epochs=10).vectors
    assert structure.vectors.shape[1] == first.stop
    np.testing.assert_array_equal(going_on[:, first], structure.vectors)
    own = start_of("label")[first.stop :]
    assert not np.array_equal(going_on[0, first.stop :], own)


@pytest.mark.parametrize("alternating", [False, True])
def test_the_papers_form_learns_everything_at_once(alternating):
    (history,) = run("joint", replace(ALONE, alternating=alternating)).history
    falls(history, "prediction")
    column = history[:, HISTORY.index("acyclicity")]
    assert (column > 0).any()


@pytest.mark.parametrize("stage", ["structure", "label"])
def test_the_best_weights_are_returned(stage, request):
    result = request.getfixturevalue({"structure": "structure", "label": "trained"}[stage])
    best = result.history[0][:, VALIDATION].min()
    np.testing.assert_allclose(final_validation(result, stage), best, rtol=1e-4)
    np.testing.assert_allclose(result.losses, best, rtol=1e-6)


def test_the_two_stages_share_the_epochs():
    for epochs in (1, 7, 100):
        settings = replace(SETTINGS, max_epochs=epochs)
        each = [assembled(stage, settings)[2].max_epochs for stage in ("structure", "label")]
        assert epochs <= sum(each) <= epochs + 1
        alone = replace(ALONE, max_epochs=epochs)
        assert assembled("joint", alone)[2].max_epochs == epochs


def test_members_of_a_sample_share_the_encoder_that_reconstructs_best():
    data = Data.of([sample()], [learn_table(sample())], SETTINGS, [A, B], [chain()])
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = Trained(weights, np.array([2.0, 1.0]), np.zeros((2, 1, 7)), interrupted=False)
    np.testing.assert_array_equal(best_of_members(found, data), weights[[1, 1]])


def test_the_same_key_gives_the_same_bits(trained):
    again = run()
    np.testing.assert_array_equal(again.vectors, trained.vectors)
    np.testing.assert_array_equal(again.history, trained.history)


def test_another_seed_gives_other_weights(trained):
    assert not np.array_equal(run(seed=B).vectors, trained.vectors)


def test_patience_ends_training_early():
    still = replace(SETTINGS, learning_rate=1e-30)
    result = run(settings=still, first_stop=0, patience=3)
    assert len(result.history[0]) < EPOCHS
    assert not result.interrupted


def test_patience_does_not_start_before_its_epoch():
    still = replace(SETTINGS, learning_rate=1e-30)
    result = run(settings=still, first_stop=20, patience=3)
    assert 20 < len(result.history[0]) <= EPOCHS


def test_without_labelled_validation_rows_training_still_lowers_the_loss(trained):
    """No epoch can be validated; the last weights are kept, not those of the first epoch."""
    problem, trainer, plan = assembled()
    blind = eqx.tree_at(
        lambda p: p.blocks.valid_observed,
        problem,
        jnp.asarray(problem.blocks.valid_observed).at[..., -1].set(0.0),
    )
    unseeing = train(trainer, blind, keys(A), plan)
    assert not np.isfinite(unseeing.losses).any()
    first = trained.history[0][0, VALIDATION]
    assert final_validation(trained) < first - 0.05
    assert final_validation(unseeing) < first - 0.05


@pytest.fixture(scope="module")
def pair():
    """Lanes A and B trained together."""
    problem, trainer, plan = assembled(seeds=(A, B))
    return train(trainer, problem, keys(A, B), plan)


def test_lanes_trained_together_are_as_if_trained_alone(pair, trained):
    problem, trainer, plan = assembled(seeds=(A, B))
    second = jax.tree.map(lambda a: a[1:], problem)  # its networks leave out other sources
    alone = [trained, train(trainer, second, keys(B), plan)]
    for lane, single in enumerate(alone):
        np.testing.assert_allclose(pair.vectors[lane], single.vectors[0], rtol=1e-2, atol=1e-3)
        np.testing.assert_allclose(pair.history[lane], single.history[0], rtol=1e-2, atol=1e-3)


def test_a_lane_with_infinite_data_stops_and_does_not_affect_others(pair):
    problem, trainer, plan = assembled(seeds=(A, B))
    poisoned = eqx.tree_at(
        lambda p: p.blocks.values, problem, jnp.asarray(problem.blocks.values).at[1].set(jnp.inf)
    )
    with pytest.warns(UserWarning, match="member 1 was not finite"):
        result = train(trainer, poisoned, keys(A, B), plan)
    assert np.isfinite(result.vectors).all()
    np.testing.assert_array_equal(result.vectors[0], pair.vectors[0])
    np.testing.assert_array_equal(result.history[0], pair.history[0])


def wild(seeds=(A,)):
    return assembled(settings=replace(SETTINGS, learning_rate=1e30), seeds=seeds)


def test_a_lane_with_a_huge_learning_rate_stops_and_does_not_affect_others(pair):
    problem, trainer, plan = assembled(seeds=(A, B))
    mixed = stacked(jax.tree.map(lambda a: a[:1], problem), wild((B,))[0])
    with pytest.warns(UserWarning, match="member 1 was not finite"):
        result = train(trainer, mixed, keys(A, B), plan)
    assert np.isfinite(result.vectors).all()
    np.testing.assert_array_equal(result.vectors[0], pair.vectors[0])


@pytest.mark.filterwarnings("ignore:the loss of member")
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_the_last_good_weights_have_a_finite_loss():
    problem, trainer, plan = wild()
    result = train(trainer, problem, keys(A), plan)
    assert np.isfinite(final_validation(result))


def test_a_single_lane_that_breaks_warns_of_that_alone():
    problem, trainer, plan = wild()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(trainer, problem, keys(A), plan)
    assert [w.category for w in caught] == [TrainingWarning]
    assert "member 0 was not finite" in str(caught[0].message)
