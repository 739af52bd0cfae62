import functools
import warnings
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest

from dapdag._runtime.cache import compilation_cache
from dapdag.data.blocks import make_blocks
from dapdag.data.layout import Encoded
from dapdag.data.sample import Sample, learn_table
from dapdag.datasets import make_regression_domains
from dapdag.model import objective as obj
from dapdag.model.parameters import slices_of, unravel
from dapdag.training import checkpoint as checkpoint_module
from dapdag.training import loop
from dapdag.training.assemble import assemble
from dapdag.training.checkpoint import Checkpoint
from dapdag.training.epochs import validation_loss
from dapdag.training.loop import _Run, train
from dapdag.training.settings import Settings
from dapdag.training.step import _draw_batch

EPOCHS = 30
SETTINGS = Settings(
    hidden=4,
    n_predictors=2,
    max_epochs=EPOCHS,
    patience=1000,
    learning_rate=1e-2,
    alternating=False,
)
A, B = 11, 22  # the seeds of two lanes
HISTORY = (*obj.TERMS, "validation")
VALIDATION = HISTORY.index("validation")


@pytest.fixture(scope="module", autouse=True)
def kept_programs():
    """The next run of these tests finds the compiled programs."""
    with compilation_cache():
        yield


@functools.cache
def sample():
    data = make_regression_domains(n_domains=3, n_samples=(60, 40, 30), random_state=0)
    return Sample(
        X=data.X[["X1", "X2", "X5"]],
        y=data.y.to_numpy(),
        domain=data.sample_domain,
        domain_labels=(0, 1, 2),
        n_sources=3,
        label_name="Y",
        classes=None,
    )


@functools.cache
def assembled(settings=SETTINGS, seeds=(A,)):
    """Problem, trainer and plan of lanes with the given seeds."""
    table = learn_table(sample())
    problem, trainer, plan = assemble([sample()], [table], settings, list(seeds))
    # Every lane is a group of its own: no graph is shared.
    return problem, trainer, replace(plan, groups=tuple(range(len(seeds))))


def keys(*seeds):
    return jnp.stack([jax.random.key(s) for s in seeds])


def run(settings=SETTINGS, seed=A, checkpoint=None, on_progress=None, **plan_changes):
    problem, trainer, plan = assembled(settings, (seed,))
    on_progress = on_progress or (lambda epoch, loss: None)
    return train(
        trainer, problem, keys(seed), replace(plan, **plan_changes), checkpoint, on_progress
    )


def stacked(*problems):
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *problems)


@pytest.fixture(scope="module")
def trained():
    return run()


def final_validation(result, settings=SETTINGS, seed=A, lane=0):
    """Validation loss of the weights that were returned, under the mask that was returned."""
    problem, trainer, _ = assembled(settings, (seed,))
    own = jax.tree.map(lambda a: a[0], problem)
    settled = jnp.asarray(result.parents[lane]), jnp.asarray(result.stack_weights[lane])
    own = eqx.tree_at(lambda p: (p.parents, p.stack_weights), own, settled)
    return float(jax.jit(validation_loss, static_argnums=0)(trainer, own, result.vectors[lane]))


def test_the_labels_loss_goes_down(trained):
    (history,) = trained.history
    assert history.shape == (EPOCHS, len(HISTORY))
    assert np.isfinite(history).all()
    for name in ("prediction", "validation"):
        column = history[:, HISTORY.index(name)]
        assert column[-5:].mean() < column[:5].mean() - 0.05, name


def test_the_reconstruction_improves_without_constraints():
    (history,) = run(replace(SETTINGS, acyclicity_weight=0.0), graph_at=None).history
    column = history[:, HISTORY.index("reconstruction")]
    assert column[-5:].mean() < column[:5].mean() - 0.05


def test_the_papers_alternating_steps_learn_too():
    (history,) = run(replace(SETTINGS, alternating=True)).history
    column = history[:, HISTORY.index("prediction")]
    assert column[-5:].mean() < column[:5].mean() - 0.05


def test_training_ends_with_an_exact_dag(trained):
    problem, trainer, _ = assembled()
    parents = trained.parents[0]
    graph = nx.from_numpy_array(parents, create_using=nx.DiGraph)
    assert nx.is_directed_acyclic_graph(graph)
    np.testing.assert_array_equal(parents.astype(bool), trained.structure.dags[0].mask)
    layout = jax.tree.map(lambda a: a[0], problem.layout)
    decoder = unravel(trainer.sizes, jnp.asarray(trained.vectors[0])).decoder
    h = obj.acyclicity(trainer.formulation, layout, decoder, jnp.asarray(parents))
    assert abs(float(h)) <= 1e-5
    assert abs(trained.history[0][-1, HISTORY.index("acyclicity")]) <= 1e-5


def test_edges_that_were_not_kept_have_no_strength(trained):
    assert (trained.strength[0][trained.parents[0] == 0] == 0).all()
    assert (trained.strength[0][trained.parents[0] == 1] > 0).all()
    assert trained.parents[0].sum() > 0


def test_the_best_weights_since_the_graph_was_fixed_are_returned(trained):
    graph_at = assembled()[2].graph_at
    best = trained.history[0][graph_at:, VALIDATION].min()
    np.testing.assert_allclose(final_validation(trained), best, rtol=1e-4)


def test_after_stacking_the_shrunk_label_networks_see_all_sources():
    problem, trainer, plan = assembled()
    run = _Run.begin(trainer, problem, keys(A), plan, None, None)
    while run.epoch < plan.stack_at:
        run.advance()
    assert not np.asarray(run.problem.in_fold).all()
    before = run.state
    run.stack()
    run.shrink_label_networks()
    assert np.asarray(run.problem.in_fold).all()
    assert not np.isfinite(run.state.best_loss).any()
    slices = slices_of(trainer.sizes)
    own = slices.mask(slices.label, before.vector.shape[1])
    half_way = (before.best + run.initial) / 2
    np.testing.assert_allclose(run.state.vector[:, own], half_way[:, own], atol=1e-6)
    np.testing.assert_array_equal(run.state.vector[:, ~own], before.vector[:, ~own])


def test_without_a_fixed_graph_it_is_read_but_nothing_is_masked():
    result = run(graph_at=None, max_epochs=10)
    np.testing.assert_array_equal(result.parents, 1.0)
    graph = nx.from_numpy_array(result.structure.dags[0].mask, create_using=nx.DiGraph)
    assert nx.is_directed_acyclic_graph(graph)


def test_the_same_key_gives_the_same_bits(trained):
    again = run()
    np.testing.assert_array_equal(again.vectors, trained.vectors)
    np.testing.assert_array_equal(again.history, trained.history)


def test_another_seed_gives_other_weights(trained):
    assert not np.array_equal(run(seed=B).vectors, trained.vectors)


def test_patience_ends_training_early():
    still = replace(SETTINGS, learning_rate=1e-30)
    result = run(still, graph_at=None, first_stop=0, patience=3)
    assert len(result.history[0]) < EPOCHS
    assert not result.broken.any() and not result.interrupted


def test_patience_does_not_start_before_its_epoch():
    still = replace(SETTINGS, learning_rate=1e-30)
    result = run(still, graph_at=None, first_stop=20, patience=3)
    assert 20 < len(result.history[0]) <= EPOCHS


def test_without_labelled_validation_rows_training_still_lowers_the_loss():
    """No epoch can be validated; the last weights are kept, not those of the first epoch."""
    problem, trainer, plan = assembled()
    blind = eqx.tree_at(
        lambda p: p.blocks.valid_observed,
        problem,
        jnp.asarray(problem.blocks.valid_observed).at[..., -1].set(0.0),
    )
    plan = replace(plan, graph_at=None)
    seeing, unseeing = (train(trainer, p, keys(A), plan) for p in (problem, blind))
    first = seeing.history[0][0, VALIDATION]
    assert final_validation(seeing) < first - 0.05
    assert final_validation(unseeing) < first - 0.05


@pytest.fixture(scope="module")
def pair():
    """Lanes A and B trained together."""
    problem, trainer, plan = assembled(seeds=(A, B))
    return train(trainer, problem, keys(A, B), plan)


def test_lanes_trained_together_are_as_if_trained_alone(pair, trained):
    problem, trainer, plan = assembled(seeds=(A, B))
    second = jax.tree.map(lambda a: a[1:], problem)  # its label networks leave out other sources
    alone = [trained, train(trainer, second, keys(B), replace(plan, groups=(0,)))]
    for lane, single in enumerate(alone):
        np.testing.assert_allclose(pair.vectors[lane], single.vectors[0], rtol=1e-2, atol=1e-3)
        np.testing.assert_array_equal(pair.parents[lane], single.parents[0])
        np.testing.assert_allclose(pair.history[lane], single.history[0], rtol=1e-2, atol=1e-3)


def test_members_of_one_group_share_a_graph():
    problem, trainer, plan = assembled(seeds=(A, B))
    result = train(trainer, problem, keys(A, B), replace(plan, groups=(0, 0)))
    np.testing.assert_array_equal(result.parents[0], result.parents[1])
    assert not np.array_equal(result.vectors[0], result.vectors[1])


def test_a_lane_with_infinite_data_stops_and_does_not_affect_others(pair):
    problem, trainer, plan = assembled(seeds=(A, B))
    poisoned = eqx.tree_at(
        lambda p: p.blocks.values, problem, jnp.asarray(problem.blocks.values).at[1].set(jnp.inf)
    )
    with pytest.warns(UserWarning, match="member 1 was not finite"):
        result = train(trainer, poisoned, keys(A, B), plan)
    np.testing.assert_array_equal(result.broken, [False, True])
    assert np.isfinite(result.vectors).all()
    np.testing.assert_array_equal(result.vectors[0], pair.vectors[0])
    np.testing.assert_array_equal(result.history[0], pair.history[0])


def wild(seeds=(A,)):
    return assembled(replace(SETTINGS, learning_rate=1e30), seeds)


def test_a_lane_with_a_huge_learning_rate_stops_and_does_not_affect_others(pair):
    problem, trainer, plan = assembled(seeds=(A, B))
    mixed = stacked(jax.tree.map(lambda a: a[:1], problem), wild((B,))[0])
    with pytest.warns(UserWarning, match="member 1 was not finite"):
        result = train(trainer, mixed, keys(A, B), plan)
    np.testing.assert_array_equal(result.broken, [False, True])
    assert np.isfinite(result.vectors).all()
    np.testing.assert_array_equal(result.vectors[0], pair.vectors[0])


@pytest.mark.filterwarnings("ignore:the loss of member")
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_the_last_good_weights_have_a_finite_loss():
    problem, trainer, plan = wild()
    result = train(trainer, problem, keys(A), plan)
    assert result.broken.all()
    assert np.isfinite(final_validation(result))


def test_a_single_lane_that_breaks_warns_of_that_alone():
    problem, trainer, plan = wild()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(trainer, problem, keys(A), plan)
    assert [w.category for w in caught] == [UserWarning]


class InterruptAt:
    """Raises an error from the progress call once an epoch is reached."""

    def __init__(self, epoch, error=KeyboardInterrupt):
        self.epoch, self.error = epoch, error

    def __call__(self, epoch, loss):
        assert np.isfinite(loss)
        if epoch >= self.epoch:
            raise self.error


@pytest.mark.parametrize(
    "epoch", [1, 15, EPOCHS - 5], ids=["before-stacking", "before-the-graph", "after-the-graph"]
)
def test_ctrl_c_keeps_the_best_weights(epoch):
    with pytest.warns(UserWarning, match="interrupted after"):
        result = run(on_progress=InterruptAt(epoch))
    assert result.interrupted
    (history,) = result.history
    assert epoch <= len(history) < EPOCHS
    graph = nx.from_numpy_array(result.parents[0], create_using=nx.DiGraph)
    assert nx.is_directed_acyclic_graph(graph)
    graph_at = assembled()[2].graph_at
    if len(history) > graph_at:
        best = history[graph_at:, VALIDATION].min()
        np.testing.assert_allclose(final_validation(result), best, rtol=1e-4)
    else:
        assert np.isfinite(result.vectors).all()


def test_an_interruption_before_stacking_does_not_shrink_the_label_networks(monkeypatch):
    found = []
    for kept in (0.5, 0.0):
        monkeypatch.setitem(loop.SHRINK, "continuous", kept)
        with pytest.warns(UserWarning, match="interrupted after"):
            found.append(run(on_progress=InterruptAt(1)).vectors)
    np.testing.assert_array_equal(*found)


@pytest.fixture
def saved_at(tmp_path):
    """A checkpoint in a fresh folder; the same one on every call."""

    def open_checkpoint(*determined_by):
        return Checkpoint.open(str(tmp_path / "run.ckpt"), *(determined_by or assembled()))

    return open_checkpoint


@pytest.mark.parametrize(
    "epoch", [1, 15, EPOCHS - 5], ids=["before-stacking", "before-the-graph", "after-the-graph"]
)
def test_an_interrupted_training_goes_on_to_the_same_end(saved_at, trained, epoch):
    with pytest.warns(UserWarning, match="interrupted"):
        run(checkpoint=saved_at(), on_progress=InterruptAt(epoch))
    assert saved_at().path.exists()
    epochs = []
    resumed = run(checkpoint=saved_at(), on_progress=lambda epoch, loss: epochs.append(epoch))
    assert min(epochs) > epoch
    np.testing.assert_array_equal(resumed.vectors, trained.vectors)
    np.testing.assert_array_equal(resumed.parents, trained.parents)
    np.testing.assert_allclose(resumed.history, trained.history, rtol=1e-6)
    assert not resumed.interrupted
    assert not saved_at().path.exists()


def test_a_crash_loses_only_what_came_after_the_last_checkpoint(saved_at, trained, monkeypatch):
    monkeypatch.setattr(checkpoint_module, "SECONDS_BETWEEN", 0.0)
    with pytest.raises(RuntimeError):
        run(checkpoint=saved_at(), on_progress=InterruptAt(EPOCHS - 5, RuntimeError))
    epochs = []
    resumed = run(checkpoint=saved_at(), on_progress=lambda epoch, loss: epochs.append(epoch))
    assert min(epochs) > 1
    np.testing.assert_array_equal(resumed.vectors, trained.vectors)
    assert not saved_at().path.exists()


def interrupted_file(saved_at):
    with pytest.warns(UserWarning, match="interrupted"):
        run(checkpoint=saved_at(), on_progress=InterruptAt(1))
    return saved_at().path


def test_a_checkpoint_of_other_data_or_settings_is_refused(saved_at):
    interrupted_file(saved_at)
    problem, trainer, plan = assembled()
    moved = eqx.tree_at(lambda p: p.blocks.values, problem, problem.blocks.values + 1)
    for other in (
        (moved, trainer, plan),
        (problem, trainer, replace(plan, max_epochs=EPOCHS + 1)),
        (problem, replace(trainer, alternating=True), plan),
    ):
        with pytest.raises(ValueError, match="other data or settings"):
            run(checkpoint=saved_at(*other))
    assert saved_at().path.exists()


@pytest.mark.parametrize("damage", ["truncated", "empty", "foreign"])
def test_a_damaged_checkpoint_is_refused_by_name(saved_at, damage):
    path = interrupted_file(saved_at)
    content = path.read_bytes()
    path.write_bytes(
        {"truncated": content[: len(content) // 2], "empty": b"", "foreign": b"hello" * 99}[damage]
    )
    with pytest.raises(ValueError, match="run.ckpt"):
        run(checkpoint=saved_at())


def test_without_a_path_there_is_no_checkpoint():
    assert Checkpoint.open(None, 1, 2) is None


SIZES = (100, 60, 24)
N_DRAWS = 20_000


@pytest.fixture(scope="module")
def batches():
    """Many batches of rows that carry their number (column 0) and their domain (column 1)."""
    domain = np.repeat(np.arange(len(SIZES)), SIZES)
    number = np.concatenate([np.arange(n) for n in SIZES])
    data = Encoded(
        np.column_stack([number, domain]).astype(np.float32),
        np.ones((len(domain), 1), dtype=np.float32),
    )
    # So few validation rows that none is taken: training blocks hold every row.
    blocks, batch_rows = make_blocks([data], [domain], [0], valid_share=1e-6)
    problem, trainer, _ = assembled()
    problem = eqx.tree_at(lambda p: p.blocks, problem, jax.tree.map(jnp.asarray, blocks))
    problem = jax.tree.map(lambda a: a[0], problem)
    trainer = replace(trainer, batch_rows=batch_rows)
    uniform = jax.random.uniform(jax.random.key(0), (N_DRAWS, 3))
    drawn = jax.jit(jax.vmap(lambda u: _draw_batch(trainer, problem, u)[1]))(uniform)
    present = np.asarray(drawn.present).astype(bool)
    values = np.asarray(drawn.values)
    assert batch_rows > min(SIZES)
    return values[:, :, 0].astype(int), values[:, 0, 1].astype(int), present, values


def test_domains_are_drawn_in_proportion_to_their_size(batches):
    _, domain, _, _ = batches
    share = np.bincount(domain, minlength=len(SIZES)) / N_DRAWS
    expected = np.array(SIZES) / sum(SIZES)
    assert (np.abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / N_DRAWS)).all()


def test_a_batch_holds_distinct_rows_of_one_domain_and_never_more_than_it_has(batches):
    number, domain, present, values = batches
    assert (present.sum(1) >= 1).all()
    assert (present.sum(1) <= np.array(SIZES)[domain]).all()
    assert ((values[:, :, 1] == domain[:, None]) | ~present).all()
    for i in range(200):
        rows = number[i, present[i]]
        assert len(set(rows)) == len(rows)


def test_batch_sizes_vary_up_to_the_whole_domain(batches):
    _, domain, present, _ = batches
    for d, n in enumerate(SIZES):
        sizes = np.unique(present.sum(1)[domain == d])
        largest = min(n, present.shape[1])
        assert sizes.min() < largest / 2
        np.testing.assert_array_equal(sizes, np.arange(sizes.min(), largest + 1))


def test_every_row_of_a_domain_is_drawn_equally_often(batches):
    number, domain, present, _ = batches
    for d, n in enumerate(SIZES):
        at = domain == d
        times = np.bincount(number[at][present[at]], minlength=n)
        np.testing.assert_allclose(times / times.mean(), 1.0, atol=0.1)
        # The decoder looks at the first rows of a batch: these must be fair too.
        first = np.bincount(number[at][:, 0], minlength=n)
        assert (np.abs(first - first.mean()) < 5 * np.sqrt(first.mean())).all()
