"""One table of predictions for left-out sources, from which the experts are combined."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .._runtime.compile import Effort, jit
from ..data.chunks import padded, spaced_rows
from ..data.layout import Encoded
from ..data.sample import Sample, encode_sample
from ..inference.combination import LeftOutSite
from ..inference.experts import evaluate_slots, label_support, network_moments
from ..inference.fitted import FittedModel
from ..inference.graph_expert import EffectPrior, infer_label
from ..inference.site_effects import SlotRows, effects_of_source
from ..model.constants import LEFT_OUT_ROWS, MAX_INFLATION, TEMPERATURES
from .folds import leaves_out
from .problem import Problem
from .step import Trainer


@dataclass(frozen=True)
class LeftOutTable:
    """Predictions for every source that some networks left out, and the effects of the sources."""

    sites: tuple[LeftOutSite, ...]
    effects: EffectPrior | None


def predict_left_out(model: FittedModel, folds: FittedModel, sample: Sample) -> LeftOutTable:
    """`folds` is the model with the networks that leave sources out in place of its own."""
    with threadpool_limits(limits=1, user_api="blas"):  # matrices are small
        return _predict_left_out(model, folds, sample)


def _predict_left_out(model: FittedModel, folds: FittedModel, sample: Sample) -> LeftOutTable:
    data = encode_sample(model.table, sample)
    out = np.stack(
        [leaves_out_by(model, sample.n_sources, member) for member in range(model.n_members)], 1
    )  # [sources, members, networks]
    rows = [_labelled_rows(sample, d) for d in range(sample.n_sources)]
    usable = [d for d in range(sample.n_sources) if out[d].any() and len(rows[d]) > 1]
    known, asked = {}, {}
    networks = {}
    for d in usable:
        piece = padded(Encoded(data.values[rows[d]], data.observed[rows[d]]))
        env = folds.source_mean[:, d]
        shares = out[d] / out[d].sum()
        both = np.zeros((2, *model.network_weights.shape[1:]))
        both[0, :, model.sizes.n_predictors :] = shares
        both[1, :, : model.sizes.n_predictors] = shares
        networks[d] = network_moments(folds, both, env[:, None], piece)[0][:, : len(rows[d])]
        known[d] = evaluate_slots(folds, shares, env, piece, len(rows[d]), labelled=True)
        asked[d] = evaluate_slots(folds, shares, env, piece, len(rows[d]), labelled=False)
    sources = {d: [effects_of_source(slot) for slot in known[d]] for d in usable}
    if len(usable) < 2:
        prior = EffectPrior.learn(list(sources.values())) if usable else None
        return LeftOutTable((), prior)
    sites = []
    for d in usable:
        others = EffectPrior.learn([sources[k] for k in usable if k != d])
        columns = data.values[rows[d]][:, -model.sizes.label_columns :].astype(np.float64)
        truth = columns[:, : model.table.label.width]
        sites.append(_site(model, others, asked[d], networks[d], truth))
    return LeftOutTable(tuple(sites), EffectPrior.learn(list(sources.values())))


def leaves_out_by(model: FittedModel, n_sources: int, member: int) -> NDArray[np.float64]:
    """[sources, networks] of one member."""
    sizes = replace(model.sizes, n_fold=model.sizes.n_predictors)
    return leaves_out(sizes, n_sources, member).astype(float)


def _labelled_rows(sample: Sample, source: int) -> NDArray[np.intp]:
    own = sample.labelled[sample.domain[sample.labelled] == source]
    return own[spaced_rows(len(own), LEFT_OUT_ROWS)] if len(own) else own


def _site(
    model: FittedModel,
    prior: EffectPrior,
    slots: list[SlotRows],
    networks: NDArray[np.float64],
    truth: NDArray[np.float64],
) -> LeftOutSite:
    support = label_support(model)
    estimates = model.rules.estimates_effects
    found = [infer_label(prior, slots, support, t, estimates) for t in TEMPERATURES]
    return LeftOutSite(
        truth=truth,
        pooled=networks[0].astype(float),
        environment=networks[1].astype(float),
        graph=np.stack([one.mean(support) for one in found]),
        graph_variance=np.stack([one.variance(support) for one in found]),
    )


@jit(Effort.QUICK_TO_COMPILE)
def fold_errors(trainer: Trainer, problem: Problem, vectors: Array) -> Array:
    """Means over validation rows of e₁², e₀² and e₁e₀: [lanes, domains, fold networks, 3].

    e₁ and e₀ are the errors of a number's networks with and without E.
    """
    sizes = trainer.sizes

    def one_lane(lane: tuple[Problem, Array]) -> Array:
        problem, vector = lane
        network, layout = trainer.network(vector), problem.layout

        def one_domain(values: Array, observed: Array, present: Array) -> Array:
            env = trainer.environment(problem, network, values, observed, present)
            inputs = layout.inputs(values, observed)
            means = network.label_means(layout, problem.parents, inputs, env[None])[0, ..., 0]
            known = present * observed[:, -1]
            error = values[:, -sizes.label_columns] - means  # [networks, rows]
            first = error[sizes.n_predictors : sizes.n_predictors + sizes.n_fold]
            pooled = error[-sizes.n_fold :]
            products = jnp.stack([first * first, pooled * pooled, first * pooled], -1)
            return jnp.einsum("n,knc->kc", known, products) / known.sum()

        blocks = problem.blocks
        valid = blocks.valid_values, blocks.valid_observed, blocks.valid_present
        return jax.lax.map(lambda domain: one_domain(*domain), valid)

    return jax.lax.map(one_lane, (problem, vectors))


def variance_inflation(
    errors: NDArray, out: NDArray[np.bool_], weights: NDArray[np.float64]
) -> float:
    """Ratio of the squared error at a site that was not trained on to that at a source, at least 1.

    `errors` [members, sources, networks, 3] are those of `fold_errors`, `out` says which network
    left which source out, `weights` are the experts'. The mean over sources is geometric.
    """
    share = float(weights[1] / max(weights[0] + weights[1], 1e-12))
    square = (
        share**2 * errors[..., 0]
        + (1 - share) ** 2 * errors[..., 1]
        + 2 * share * (1 - share) * errors[..., 2]
    )
    logs = np.log(np.maximum(square, 1e-12))
    known = np.isfinite(logs)
    differences = []
    for m, d in np.ndindex(logs.shape[:2]):
        own, left = known[m, d], out[m, d]
        if (own & left).any() and (own & ~left).any():
            differences.append(logs[m, d][own & left].mean() - logs[m, d][own & ~left].mean())
    ratio = np.exp(np.mean(differences)) if differences else 1.0
    return float(np.clip(ratio, 1.0, MAX_INFLATION))
