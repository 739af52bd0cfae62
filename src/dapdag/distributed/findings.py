"""What a site inferred about itself, as sums that add up over its parts.

E is a function of sums over rows. The site's effects on mechanisms are not: their EM goes through
the rows again and again. So every part of a site estimates them on its own rows, and the centre
takes the mean of the parts weighted by their rows: exact for one part, approximate for several,
each of which was shrunk towards the sources by itself.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dapdag.inference.environment import environment_of
from dapdag.inference.fitted import EnvPosterior, FittedModel
from dapdag.inference.prediction import SiteEstimate
from dapdag.inference.recalibration import class_proportions
from dapdag.inference.site import KnownSite, Told
from dapdag.inference.site_effects import Effects
from dapdag.inference.site_mechanisms import mechanism_numbers
from dapdag.model import Summary
from dapdag.model.constants import LEAST_NOISE

Array = NDArray[np.float64]
Totals = Mapping[str, Array]


def findings_of(site: KnownSite) -> dict[str, Array]:
    """Σ rows · value of everything that was inferred, and the rows that had a value."""
    n, model, estimate = site.evidence.n_rows, site.model, site.estimate
    encoder = environment_of(model, site.evidence.summary)
    effect, effect_sd, shift, shift_sd = mechanism_numbers(site).T
    means: dict[str, Array] = {
        "env_moved": site.env.mean - encoder.mean,  # by its re-estimation outside of the sources
        "weights": estimate.weights,
        "offset": estimate.offset,
        "unexplained": site.unexplained,
    }
    if estimate.proportions is not None:
        means["proportions"] = estimate.proportions
    if estimate.effects:
        means["effects"] = np.stack([own.effects for own in estimate.effects])
        means["noise"] = np.array([own.noise for own in estimate.effects])
        means |= {"relative": estimate.relative, "effect": effect, "shift": shift}
    totals = {}
    for name, value in means.items():
        known = np.isfinite(value)
        totals[name] = n * np.where(known, value, 0.0)
        totals[_rows_of(name)] = n * known.astype(float)
    if estimate.effects:
        totals["effect_variance"] = n**2 * np.nan_to_num(effect_sd) ** 2
        totals["shift_variance"] = n**2 * np.nan_to_num(shift_sd) ** 2
    return totals


def estimate_from(model: FittedModel, totals: Totals) -> SiteEstimate:
    """E from the sums, and all else as the parts of the site found it; as at the sources where
    they did not say."""
    env = _environment(model, totals)
    overall = None
    if model.calibration.overall is not None:
        overall = class_proportions(model.table.label)  # type: ignore[arg-type]
    effects, relative = _effects(model, totals)
    weights = _mean(totals, "weights", model.combination.weights)
    return SiteEstimate(
        env,
        effects,
        relative,
        weights / weights.sum(),
        _mean(totals, "offset", np.zeros(len(model.calibration.level))),
        None if overall is None else _mean(totals, "proportions", overall),
    )


def told_by(model: FittedModel, totals: Totals) -> Told:
    """The posterior predictive checks and the table of mechanisms."""
    unknown = np.full(len(model.table.features), np.nan)
    unexplained = _mean(totals, "unexplained", unknown)
    if "effects" not in totals:
        return Told(unexplained, np.zeros((0, 4)))
    none = np.full(len(totals["effect"]), np.nan)
    columns = []
    for name in ("effect", "shift"):
        rows = totals[_rows_of(name)]
        spread = np.sqrt(totals[f"{name}_variance"]) / np.maximum(rows, 1.0)
        columns += [_mean(totals, name, none), np.where(rows > 0, spread, np.nan)]
    return Told(unexplained, np.stack(columns, axis=1))


def _environment(model: FittedModel, totals: Totals) -> EnvPosterior:
    """Posterior of E; its variance includes that of noise in the sums, to first order."""
    # Noise may have moved the precision below the prior's, which no rows can do.
    excess = np.maximum(totals["excess"], 0.0)
    q = environment_of(model, Summary(excess, totals["weighted"]))  # type: ignore[arg-type]
    moved = _mean(totals, "env_moved", np.zeros_like(q.mean))
    variance = q.variance
    if "weighted_noise" in totals:
        noise = totals["weighted_noise"] + q.mean**2 * totals["excess_noise"]
        variance = variance + q.variance**2 * noise
    return EnvPosterior(q.mean + moved, variance)


def _effects(model: FittedModel, totals: Totals) -> tuple[tuple[Effects, ...], Array]:
    prior = model.effects
    if prior is None:
        return (), np.zeros(0)
    effects = _mean(totals, "effects", prior.mean)
    noise = np.maximum(_mean(totals, "noise", prior.noise), LEAST_NOISE)
    own = zip(effects, noise.tolist(), strict=True)
    relative = _mean(totals, "relative", np.ones(len(noise) - 1))
    return tuple(Effects(one, least) for one, least in own), relative


def _mean(totals: Totals, name: str, otherwise: Array) -> Array:
    """Mean over the rows of the parts that know it; NaN where none does."""
    if name not in totals:
        return otherwise
    rows = totals[_rows_of(name)]
    if totals[name].shape != otherwise.shape or rows.shape != otherwise.shape:
        raise ValueError(
            f"the summary's {name} has the shape {totals[name].shape}, and the model's is "
            f"{otherwise.shape}"
        )
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(rows > 0, totals[name] / np.maximum(rows, 1.0), np.nan))


def _rows_of(name: str) -> str:
    return f"rows of {name}"
