"""Anti-causal sites: causes → label → effects, whose strength differs between sites."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from dapdag.datasets import oracles
from dapdag.datasets.domain_data import Array, DomainData, Task, Values
from dapdag.datasets.equations import Bernoulli, Equation, Gaussian, StructuralModel, env_of
from dapdag.datasets.simulation import Seed, check_choice, check_positive, expected_sizes

Mode = Literal["as_sources", "reversed", "absent", "same", "intercept"]
Kind = Literal["numeric", "binary", "mixed"]

TASKS = ("regression", "classification")
MODES = ("as_sources", "reversed", "absent", "same", "intercept")
KINDS = ("numeric", "binary", "mixed")
LABEL = "Y"

# With these, what the sources' pooled rows, the causes alone and the true mechanisms predict are
# far apart at a reversed target: tests/test_datasets_anticausal.py.
CAUSES_EXPLAIN = 0.762  # share of the variance of a continuous label, which is 1
CAUSES_LOGIT = 3.8  # standard deviation of the logit of a binary label
EFFECT_SIZE = {  # slope on the label at strength 1: per noise sd of a number, of a binary's logit
    ("regression", "numeric"): 2.9,
    ("regression", "binary"): 3.0,
    ("classification", "numeric"): 1.7,
    ("classification", "binary"): 3.0,
}
INTERCEPT_SCALE = {"regression": 0.4, "classification": 2.0}


@dataclass(frozen=True)
class Weighted:
    """Sum of the label's causes; the last input is its intercept where that differs by site."""

    weights: tuple[float, ...]
    binary: bool

    def __call__(self, *inputs: Array) -> Array:
        weights = (*self.weights, 1.0)[: len(inputs)]
        total = np.asarray(sum(w * x for w, x in zip(weights, inputs, strict=True)))
        return np.asarray(expit(total)) if self.binary else total


@dataclass(frozen=True)
class Effect:
    """Slope × strength × label; a binary label counts as −1 and 1, a binary effect by its logit."""

    slope: float
    of_class: bool
    binary: bool

    def __call__(self, label: Array, strength: Array | float = 1.0) -> Array:
        signed = 2.0 * label - 1.0 if self.of_class else label
        total = self.slope * strength * signed
        return np.asarray(expit(total)) if self.binary else np.asarray(total)


def make_anticausal_domains(
    n_domains: int = 8,
    n_targets: int = 1,
    n_samples: int | Sequence[int] = 500,
    task: Task = "classification",
    mode: Mode = "reversed",
    n_causes: int = 2,
    n_effects: int = 2,
    effects: Kind = "numeric",
    spread: float = 0.95,
    effect_size: float | None = None,
    target_strength: float | Sequence[float] | None = None,
    intercept_scale: float | None = None,
    random_state: Seed = 0,
) -> DomainData:
    """Simulate causes → label → effects, where the effects' strength differs by site.

    Causes are N(0, 1) at every site. The label Y is linear in them, by its logit if it has
    classes. The effect of Y on every effect is multiplied by the site's strength S: 1 on average
    over sources, and of one sign, so that pooled rows suggest a stable relation. At a target
    it may turn around. One seed gives the same causes, labels and noise for any strength.

    Parameters
    ----------
    n_domains : int, default=8
        Number of sources, labelled 0, 1, ….
    n_targets : int, default=1
        Number of targets. Their labels follow those of the sources, and ``data.targets`` lists
        them; ``data.leave_out(target)`` keeps the other targets out of the sources.
    n_samples : int or sequence of int, default=500
        Rows per domain: one number, or one for each source and target.
    task : {"regression", "classification"}, default="classification"
        ``"regression"``: Y has variance 1. ``"classification"``: Y is 0 or 1.
    mode : {"as_sources", "reversed", "absent", "same", "intercept"}, default="reversed"
        S at the targets: ``"as_sources"``, drawn like those; ``"reversed"``, −1, their mean with
        the sign turned; ``"absent"``, 0. ``"same"``: 1 at every site. ``"intercept"``: as sources,
        and the intercept of Y differs by site, too.
    n_causes, n_effects : int, default=2
        Number of features cause1, cause2, … and effect1, effect2, ….
    effects : {"numeric", "binary", "mixed"}, default="numeric"
        ``"numeric"``, ``"binary"``, or ``"mixed"``: every second one binary.
    spread : float, default=0.95
        S of a source ~ U(1 − spread, 1 + spread); below 1.
    effect_size : float, optional
        Absolute slope of the effects (of a binary effect: of its logit) on the label at S = 1, in
        standard deviations of their noise. By default it depends on task and effect.
    target_strength : float or sequence of float, optional
        S of every target in place of the mode's, for all effects or one value per effect.
    intercept_scale : float, optional
        Standard deviation of the label's intercept in mode ``"intercept"``; by default 0.4 in
        regression and 2 (of the logit) in classification.
    random_state : int or numpy Generator, default=0
        Seed or generator.

    Returns
    -------
    DomainData
        ``env[domain]`` is a Series: the strength S of each effect by its name, and the label's
        intercept as ``"Y"``. In the graph, the attribute ``perturbed`` marks the variables whose
        mechanism differs between domains.

    Examples
    --------
    >>> from dapdag.datasets import make_anticausal_domains
    >>> data = make_anticausal_domains(n_domains=3, n_samples=50, mode="reversed")
    >>> data.sources, data.targets
    ([0, 1, 2], (3,))
    """
    check_choice("task", task, TASKS)
    check_choice("mode", mode, MODES)
    check_choice("effects", effects, KINDS)
    for name, count in (("n_domains", n_domains), ("n_causes", n_causes), ("n_effects", n_effects)):
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}.")
    if n_targets < 0:
        raise ValueError(f"n_targets must be at least 0, got {n_targets}.")
    if not 0 <= spread < 1:
        raise ValueError(f"spread must be at least 0 and below 1, got {spread!r}.")
    scale = INTERCEPT_SCALE[task] if intercept_scale is None else intercept_scale
    check_positive("intercept_scale", scale)
    if effect_size is not None:
        check_positive("effect_size", effect_size)
    given = _given_strength(target_strength, n_effects)

    model_rng, *domain_rngs = np.random.default_rng(random_state).spawn(1 + n_domains + n_targets)
    shifted = mode != "same" or given is not None
    kinds = _kinds(effects, n_effects)
    model = _model(task, mode, n_causes, kinds, effect_size, shifted, model_rng)
    names = [*kinds, LABEL]
    sizes = expected_sizes(n_samples, n_domains + n_targets)
    env: dict[Hashable, pd.Series] = {}
    blocks = []
    for k, child in enumerate(domain_rngs):
        env_rng, row_rng = child.spawn(2)
        drawn, intercept = env_rng.uniform(1 - spread, 1 + spread), scale * env_rng.normal()
        is_target = k >= n_domains
        strength = np.full(n_effects, _strength(mode, drawn, is_target))
        if is_target and given is not None:
            strength = given
        own = [*strength.tolist(), intercept if mode == "intercept" else 0.0]
        env[k] = pd.Series(own, index=names, name=k)
        dimensions = {env_of(name): value for name, value in zip(names, own, strict=True)}
        blocks.append(pd.DataFrame(model.sample(dimensions, sizes[k], row_rng)))
    table = pd.concat(blocks, ignore_index=True)
    return DomainData(
        X=table.drop(columns=LABEL),
        y=table[LABEL],
        sample_domain=np.repeat(np.arange(len(sizes)), sizes),
        task=task,
        name=f"anticausal-{task}-{mode}",
        description=f"Simulated {task} with {effects} effects of the label ({mode}).",
        licence="simulated: no licence needed",
        env=env,
        graph=model.graph(),
        conditional=partial(_conditional, model, _rule(task, kinds), tuple(names)),
        targets=tuple(range(n_domains, n_domains + n_targets)),
    )


def _given_strength(value: float | Sequence[float] | None, n_effects: int) -> Array | None:
    if value is None:
        return None
    strength = np.asarray(value, dtype=np.float64)
    if strength.shape not in ((), (n_effects,)) or not np.isfinite(strength).all():
        raise ValueError(
            f"target_strength must be a finite number or one per effect ({n_effects}), "
            f"got {value!r}."
        )
    return np.broadcast_to(strength, (n_effects,)).copy()


def _strength(mode: str, drawn: float, is_target: bool) -> float:
    if mode == "same":
        return 1.0
    at_target = {"reversed": -1.0, "absent": 0.0}
    return at_target.get(mode, drawn) if is_target else drawn


def _kinds(effects: str, n_effects: int) -> dict[str, str]:
    """Whether each effect is numeric or binary, by its name."""
    pattern = ("numeric", "binary") if effects == "mixed" else (effects,)
    return {f"effect{k + 1}": pattern[k % len(pattern)] for k in range(n_effects)}


def _model(
    task: str,
    mode: str,
    n_causes: int,
    kinds: dict[str, str],
    effect_size: float | None,
    shifted: bool,
    rng: np.random.Generator,
) -> StructuralModel:
    """Equations with random directions of the causes' weights and random signs of the effects."""
    causes = [f"cause{k + 1}" for k in range(n_causes)]
    direction = rng.standard_normal(n_causes)
    signs = rng.choice([-1.0, 1.0], len(kinds))
    classes = task == "classification"
    signal = CAUSES_LOGIT if classes else np.sqrt(CAUSES_EXPLAIN)
    weights = tuple((signal * direction / np.linalg.norm(direction)).tolist())
    inputs = (*causes, *((env_of(LABEL),) if mode == "intercept" else ()))
    own = Bernoulli() if classes else Gaussian(float(np.sqrt(1 - CAUSES_EXPLAIN)))
    equations = [Equation(name, (), _zero, Gaussian(1.0)) for name in causes]
    equations.append(Equation(LABEL, inputs, Weighted(weights, classes), own))
    for (name, kind), sign in zip(kinds.items(), signs.tolist(), strict=True):
        size = EFFECT_SIZE[task, kind] if effect_size is None else effect_size
        binary = kind == "binary"
        law = Bernoulli() if binary else Gaussian(1.0)
        acts = (LABEL, *((env_of(name),) if shifted else ()))
        equations.append(Equation(name, acts, Effect(sign * size, classes, binary), law))
    return StructuralModel(tuple(equations), (*causes, *kinds, LABEL))


def _rule(task: str, kinds: dict[str, str]) -> Callable[..., tuple[Array, Array]]:
    """How to compute p(Y | features): exactly in every case."""
    if task == "classification":
        return oracles.binary
    return oracles.quadrature if "binary" in kinds.values() else oracles.linear_gaussian


def _conditional(
    model: StructuralModel,
    rule: Callable[..., tuple[Array, Array]],
    names: tuple[str, ...],
    values: Values,
    env: Array,
) -> tuple[Array, Array]:
    """Mean and sd of the label given the features and the dimensions of E, [rows, dimensions]."""
    dimensions: dict[str, Any] = {env_of(name): env[:, k] for k, name in enumerate(names)}
    return rule(model, LABEL, {**values, **dimensions}, np.zeros(len(env)))


def _zero() -> float:
    return 0.0
