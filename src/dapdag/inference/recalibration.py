"""The shares of the classes at a new site.

Where a site's features are shifted, a model that knows only other sites foretells other shares of
the classes than usual. Often that comes true only in part, because what moved the features moved
the label's own equation as well. The sources tell how much of it to believe: each was foretold by
votes that had not seen it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.columns import Discrete
from .stacking import Unseen

# Shares of a site are counted as if it had this many further rows with the sources' usual shares:
# of a few rows nobody can tell whether their site is unusual or they are.
FURTHER_ROWS = 50
# Before any evidence, belief is all (1), give or take this much.
DOUBT = 0.5
# Enough rows to find a shift by, and steps to find it in.
ROWS, STEPS = 4096, 20
LEAST = 1e-6


@dataclass(frozen=True)
class Levels:
    """What is usual among the sources, and how much to believe when a site seems unusual.

    Attributes
    ----------
    shares : of the classes over all rows of the sources.
    usual : mean over the sources of the level of each class (see `level`).
    belief : 0 where every site turned out as usual, 1 where all came as foretold.
    """

    shares: NDArray[np.float64]
    usual: NDArray[np.float64]
    belief: float

    @staticmethod
    def learn(
        label: Discrete, counts: NDArray, unseen: Unseen | None, env_share: float
    ) -> "Levels":
        """From the sources' labels, counted by class [sources, classes], and from what the votes of
        each member made of sources that they had not seen; `env_share` is that of the votes that
        see E."""
        overall = class_shares(label)
        rows = counts.sum(1)
        some = rows > 0
        shares = counts[some] / rows[some, None]
        usual = level(_with_further(shares, rows[some], overall)).mean(0)
        belief = 1.0 if unseen is None else _belief(unseen, env_share, overall)
        return Levels(overall, usual, belief)

    def applied(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probabilities [rows, classes] of one site, moved to the level that is believed."""
        if self.belief == 1.0 or not len(probabilities):
            return probabilities
        foretold = probabilities.mean(0)
        counted = level(site_shares(probabilities, self.shares))
        wanted = level(foretold) - (1.0 - self.belief) * (counted - self.usual)
        some = np.linspace(0, len(probabilities) - 1, min(len(probabilities), ROWS)).astype(int)
        return _moved(probabilities, _shift(probabilities[some], foretold, wanted))


def class_shares(label: Discrete) -> NDArray[np.float64]:
    return np.asarray(label.shares, dtype=float) / np.sum(label.shares)


def all_classes(columns: NDArray) -> NDArray[np.float64]:
    """Probabilities of all classes from the label's columns, of which two classes share one."""
    columns = columns.astype(float)
    alone = columns.shape[-1] == 1
    return np.concatenate([1 - columns, columns], axis=-1) if alone else columns


def site_shares(
    probabilities: NDArray[np.float64], overall: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The shares of the classes at the site whose rows have these probabilities."""
    return _with_further(probabilities.mean(0), np.array(len(probabilities)), overall)


def level(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of shares, less their mean over the classes."""
    logs = np.log(np.maximum(shares, LEAST))
    return logs - logs.mean(-1, keepdims=True)


def belief_in(foretold: NDArray[np.float64], observed: NDArray[np.float64]) -> float:
    """How much of a deviation from the usual level comes true: [domains, classes] each.

    The slope of observed on foretold deviations, each from the mean of the other domains, drawn
    towards 1 by the evidence of the domains; never below 0 or above 1.
    """
    n = len(observed)
    if n < 2:
        return 1.0
    usual = (observed.sum(0) - observed) / (n - 1)
    seemed, was = foretold - usual, observed - usual
    square = (seemed**2).sum()
    if square == 0:
        return 1.0
    slope = (seemed * was).sum() / square
    # One domain's error, had all been believed, keeps a few that agree by chance from certainty.
    error = (((was - slope * seemed) ** 2).sum() + ((was - seemed) ** 2).sum() / n) / n
    pull = error / DOUBT**2
    return float(np.clip((slope * square + pull) / (square + pull), 0.0, 1.0))


def _belief(unseen: Unseen, env_share: float, overall: NDArray[np.float64]) -> float:
    # [members, domains, 3, classes]: with E, without it, as it was
    found = all_classes(np.asarray(unseen.levels)[..., : 1 if len(overall) == 2 else len(overall)])
    told = np.asarray(np.isfinite(found).all((2, 3)))
    known = np.asarray(told.any(0))
    total = np.where(told[..., None, None], found, 0.0).sum(0)[known]
    with_env, pooled, observed = np.moveaxis(total / told.sum(0)[known, None, None], 1, 0)
    foretold = env_share * with_env + (1.0 - env_share) * pooled
    rows = np.asarray(unseen.rows).max(0)[known]
    return belief_in(*(level(_with_further(s, rows, overall)) for s in (foretold, observed)))


def _with_further(shares: NDArray, rows: NDArray, overall: NDArray) -> NDArray[np.float64]:
    """Shares [..., classes] of `rows` [...] with `FURTHER_ROWS` of the usual kind among them."""
    rows = rows[..., None]
    return (rows * shares + FURTHER_ROWS * overall) / (rows + FURTHER_ROWS)


def _shift(probabilities: NDArray, foretold: NDArray, wanted: NDArray) -> NDArray[np.float64]:
    """What to add to the logarithms of probabilities so that the site's level is as wanted."""
    # A part of the rows: their mean is not quite that of all of them.
    aim = level(probabilities.mean(0)) + wanted - level(foretold)
    shift = np.zeros_like(aim)
    for _ in range(STEPS):
        shift += aim - level(_moved(probabilities, shift).mean(0))
    return shift


def _moved(probabilities: NDArray, shift: NDArray) -> NDArray[np.float64]:
    moved = probabilities * np.exp(shift - shift.max())
    return moved / np.maximum(moved.sum(1, keepdims=True), 1e-300)
