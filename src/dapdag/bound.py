"""The paper's generalisation bound of the decoder, as a number with its terms.

With probability at least 1 − δ over the N rows of a domain with environment E,

    L_P ≤ 4 L_N^c + L_N^b
          + 3/N [E²/σₑ² + (h − (d+1))² + (Σⱼ‖W₁ʲ‖² + Σₖ‖W_k‖² + Σⱼ‖W_oʲ‖²)/σ² + log 8/δ] + C₃,

C₃ = 6γ₁ + 4γ₂ + s₁² + s₂²/2, where h = tr exp(A∘A) and A holds the norms of the structural filters.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._runtime.cache import compilation_cache
from ._sklearn.checks import as_frame
from .data.chunks import CHUNK_ROWS, padded
from .data.columns import Discrete
from .data.layout import Encoded, encode
from .data.table import Table
from .inference.fitted import FittedModel
from .inference.programs import MemberDecoder, per_member
from .inference.site import Site
from .model import Decoder, Layout
from .model.decoder import allowed_inputs
from .model.likelihoods import squared_or_cross_entropy
from .model.parameters import unravel
from .training.settings import Settings

_MEANING = {
    "continuous": "4 × squared error of the continuous variables",
    "discrete": "cross-entropy of the binary and categorical variables",
    "environment": "3/N × E² / σₑ²",
    "dag": "3/N × (h − (d+1))², zero for an acyclic graph",
    "weights": "3/N × squared weights of the decoder / σ²",
    "confidence": "3/N × log(8/δ)",
    "constant": "C₃ = 6γ₁ + 4γ₂ + s₁² + s₂²/2",
}


@dataclass(frozen=True)
class Bound:
    """The terms of the bound, each with its factor, so that they add up to `total`.

    Attributes
    ----------
    continuous : float
        4 × the squared error of the continuous variables.
    discrete : float
        Cross-entropy of the binary and categorical variables.
    environment : float
        3/N × E² / σₑ².
    dag : float
        3/N × (h − (d+1))², zero for an acyclic graph.
    weights : float
        3/N × the squared weights of the decoder / σ².
    confidence : float
        3/N × log(8/δ).
    constant : float
        C₃ = 6γ₁ + 4γ₂ + s₁² + s₂²/2.
    n_rows : int
        Number of rows N.
    """

    continuous: float
    discrete: float
    environment: float
    dag: float
    weights: float
    confidence: float
    constant: float
    n_rows: int

    @staticmethod
    def from_terms(
        *,
        continuous_loss: float,
        discrete_loss: float,
        squared_env: float,
        cyclicity: float,
        squared_weights: float,
        n_rows: int,
        delta: float = 0.05,
        weight_variance: float = 1.0,
        prior_scale: float = 1.0,
        constant: float = 0.0,
    ) -> "Bound":
        """The bound from what enters it: L_N^c, L_N^b, E², h − (d+1), Σ‖W‖², N, δ, σ², σₑ, C₃."""
        if not 0 < delta < 1:
            raise ValueError(f"delta must lie between 0 and 1, not {delta!r}")
        _check_positive("weight_variance", weight_variance)
        _check_positive("prior_scale", prior_scale)
        if n_rows < 1:
            raise ValueError(f"n_rows must be at least 1, not {n_rows!r}")
        per_row = 3.0 / n_rows
        return Bound(
            continuous=4.0 * continuous_loss,
            discrete=discrete_loss,
            environment=per_row * squared_env / prior_scale**2,
            dag=per_row * cyclicity**2,
            weights=per_row * squared_weights / weight_variance,
            confidence=per_row * float(np.log(8.0 / delta)),
            constant=constant,
            n_rows=n_rows,
        )

    @property
    def total(self) -> float:
        """The right-hand side of the theorem."""
        return sum(getattr(self, term) for term in _MEANING)

    def table(self) -> pd.DataFrame:
        """One row per term: its value and what it stands for; the total comes last."""
        values = [*(getattr(self, term) for term in _MEANING), self.total]
        meaning = [*_MEANING.values(), f"bound for N = {self.n_rows} rows"]
        index = pd.Index([*_MEANING, "total"], name="term")
        return pd.DataFrame({"value": values, "meaning": meaning}, index=index)

    def __str__(self) -> str:
        rows = self.table()
        return "\n".join(
            f"{term:<12} {value:>12.5g}  {meaning}"
            for term, value, meaning in zip(rows.index, rows["value"], rows["meaning"], strict=True)
        )


def generalisation_bound(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    weight_variance: float = 1.0,
    prior_scale: float | None = None,
    gamma1: float = 0.0,
    gamma2: float = 0.0,
    s1: float = 0.0,
    s2: float = 0.0,
) -> Bound:
    """The right-hand side of the theorem for a fitted estimator and the rows of one domain.

    Losses are those of the reconstruction of every variable, the label included, from its parents
    in the graph and E, the domain's posterior mean: in standardised units, summed over variables
    and averaged over the rows in which a variable is observed. The theorem covers continuous and
    binary variables; a categorical one counts as binary, with its cross-entropy. The
    weights are those that act in this reconstruction: the filters under the graph's mask, with
    their rows for E, the shared layers and the heads. A bias is the row of a constant input. The
    label networks are not part of it. Every term is averaged over the members of an ensemble:
    this bounds the members' mean loss.

    Parameters
    ----------
    estimator : fitted DAPDAG estimator
        Fitted DAPDAGRegressor or DAPDAGClassifier.
    X : DataFrame or array of shape (rows, columns)
        Rows of one domain.
    y : sequence, one per row
        Labels of all these rows.
    delta : float, default=0.05
        Probability with which the bound fails at most, between 0 and 1.
    weight_variance : float, default=1.0
        Σ² of the perturbation of the weights, positive.
    prior_scale : float, optional
        Σₑ, positive. By default that of the estimator.
    gamma1, gamma2, s1, s2 : float, default=0.0
        Constants of the theorem's assumptions (how far a perturbation of the weights moves the
        reconstructions, and the sub-Gaussian scales of the losses). They cannot be estimated from
        data; at 0, C₃ is left out, and the result compares models or domains but is not a bound.

    Returns
    -------
    Bound
        The terms, and their sum `total`.

    Examples
    --------
    >>> from dapdag import DAPDAGRegressor
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> from dapdag.bound import generalisation_bound
    >>> bound = generalisation_bound(model, split.X_target, split.y_target)
    >>> bound.n_rows
    60
    """
    check_is_fitted(estimator)
    for name, value in {"gamma1": gamma1, "gamma2": gamma2, "s1": s1, "s2": s2}.items():
        if not 0 <= value < np.inf:
            raise ValueError(f"{name} must be a number of at least 0, not {value!r}")
    if prior_scale is None:
        prior_scale = getattr(estimator, "prior_scale", Settings.prior_scale)
    model: FittedModel = estimator.fitted_.model
    frame = as_frame(estimator, X, reset=False)
    label = _labels(model.table, y, len(frame))
    with compilation_cache():
        env = Site(model, frame).env.mean
        data = encode(model.table, *model.table.encode(frame), label)
        losses = _losses(model, data, env)  # [members, variables]
    continuous = np.asarray(model.layout.continuous) > 0
    members = [
        Bound.from_terms(
            continuous_loss=float(losses[m, continuous].sum()),
            discrete_loss=float(losses[m, ~continuous].sum()),
            squared_env=float((env[m] ** 2).sum()),
            cyclicity=cyclicity(np.asarray(decoder.adjacency(model.layout)) * model.parents),
            squared_weights=squared_weights(decoder, model.layout, model.parents),
            n_rows=len(frame),
            delta=delta,
            weight_variance=weight_variance,
            prior_scale=prior_scale,
            constant=float(6 * gamma1 + 4 * gamma2 + s1**2 + s2**2 / 2),
        )
        for m, decoder in enumerate(_decoders(model))
    ]
    terms = {term: float(np.mean([getattr(b, term) for b in members])) for term in _MEANING}
    return Bound(**terms, n_rows=len(frame))


def _decoders(model: FittedModel) -> list[Decoder]:
    return [unravel(model.sizes, jnp.asarray(vector)).decoder for vector in model.vectors]


def cyclicity(adjacency: ArrayLike) -> float:
    """h − (d+1) = tr exp(A∘A) − (d+1) = Σ (exp λ − 1) over the eigenvalues λ of A∘A.

    Exactly 0 for the filters of a DAG, whose eigenvalues LAPACK finds by permuting alone.
    """
    eigenvalues = np.linalg.eigvals(np.asarray(adjacency, dtype=np.float64) ** 2)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.expm1(eigenvalues).sum().real)


def squared_weights(decoder: Decoder, layout: Layout, parents: ArrayLike) -> float:
    """Σ‖W‖² over filters, shared layers and heads, without what is masked or only pads."""
    real = np.asarray(layout.real)
    owned = np.asarray(layout.owner).sum(1)  # 1 for the columns of the table
    if layout.reads_any is None:
        allowed = np.asarray(allowed_inputs(layout, jnp.asarray(parents)))
    else:
        allowed = np.asarray(layout.reads_any)
    n = len(real)

    def squares(weights: Any) -> NDArray[np.float64]:
        return np.asarray(weights, dtype=np.float64) ** 2

    filters = (squares(decoder.filters)[:n].sum(-1) * allowed).sum()
    env_and_bias = squares(decoder.env_filters).sum((1, 2)) + squares(decoder.filter_bias).sum(1)
    shared = sum(squares(part).sum() for layer in decoder.shared for part in layer)
    heads = owned @ (squares(decoder.heads).sum(1) + squares(decoder.head_bias))
    return float(filters + real @ env_and_bias[:n] + shared + heads)


def _losses(model: FittedModel, data: Encoded, env: NDArray[np.floating]) -> NDArray[np.float64]:
    """Mean loss of each variable over its observed cells, per member: [members, variables]."""
    total = np.zeros((model.n_members, model.sizes.variables))
    for start in range(0, len(data.values), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        part = padded(Encoded(data.values[rows], data.observed[rows]))
        total += per_member(model, _summed_losses, (env,), part.values, part.observed)
    return total / np.maximum(data.observed.sum(0, dtype=np.float64), 1.0)


def _summed_losses(
    member: MemberDecoder, env: jax.Array, values: jax.Array, observed: jax.Array
) -> jax.Array:
    outputs = member.outputs(values, observed, env)
    return (squared_or_cross_entropy(member.layout, outputs, values) * observed).sum(0)


def _labels(table: Table, y: Any, n_rows: int) -> NDArray[np.float32]:
    """The label's columns; the bound needs it in every row."""
    target = column_or_1d(y)
    if len(target) != n_rows:
        raise ValueError(f"y must hold one label per row: X has {n_rows} rows, y has {len(target)}")
    if isinstance(table.label, Discrete):
        column = pd.Series(target.astype(object))
        strange = column[~table.label.known(column)]
        if len(strange):
            raise ValueError(
                f"{len(strange)} row(s) of y hold no class that was fitted, the first is "
                f"{strange.iloc[0]!r}: known are {list(table.label.levels)}"
            )
        return table.label.encode(column)
    try:
        numbers = target.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y of a regression must be numbers ({error})") from error
    bad = ~np.isfinite(numbers)
    if bad.any():
        raise ValueError(
            f"y is missing or infinite in {int(bad.sum())} row(s), the first at position "
            f"{int(np.argmax(bad))}: the bound needs labelled rows"
        )
    return table.label.encode(numbers)


def _check_positive(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number, not {value!r}")
