"""What a summary of a site gives away, with and without noise, and what the noise costs.

    python benchmarks/summary_attack.py [--seeds 0:5]

The attacker has the model and two summaries that differ by one row, and wants that row. By the
sums of the columns it is their difference. By the encoder's sums alone it is the row whose evidence
for E is nearest to theirs. Errors are root mean squares over cells in standard deviations of the
column: who guesses the mean of each column errs by 1. The costs are root mean squares over draws of
the noise: the error of E, in standard deviations of E over the sources, and the change of
predictions, in standard deviations of theirs. What is lost without any summary is the last row.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from dapdag import DAPDAGRegressor
from dapdag.data.layout import Encoded, sizes_of
from dapdag.datasets import make_regression_domains
from dapdag.distributed import SiteSummary, adapt, summarise
from dapdag.distributed.moments import middle_and_half
from dapdag.inference.row_evidence import row_evidence

ROWS = 500
NOISE = (None, 8.0, 2.0, 1.0, 0.5)
SUMS = ("excess", "weighted", "values", "first", "second")
STARTS, DRAWS = 16, 10


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", default="0:5", help="FIRST:LAST")
    first, last = map(int, options.parse_args().seeds.split(":"))
    warnings.simplefilter("ignore")
    found = pd.DataFrame([row for seed in range(first, last) for row in one_site(seed)])
    table = found.groupby("summary", sort=False).mean().drop(columns="seed")
    print(f"{last - first} sites of {ROWS} rows\n")
    print(table.round(3).to_string(na_rep="–"))


def one_site(seed: int) -> list[dict]:
    """One new site: every kind of summary."""
    data = make_regression_domains(n_domains=9, n_samples=ROWS, random_state=seed).leave_out(8)
    model = DAPDAGRegressor(random_state=seed).fit(data.X, data.y, sample_domain=data.sample_domain)
    X, exact = data.X_target, model.at(data.X_target)
    rows = []
    for epsilon in NOISE:
        kinds = {"epsilon": epsilon, "random_state": np.random.default_rng(seed)}
        both = [summarise(model, part, **kinds) for part in (X[:-1], X)]
        gap = {name: both[1].totals[name] - both[0].totals[name] for name in both[0].totals}
        rows.append(
            {
                "summary": "without noise" if epsilon is None else f"epsilon {epsilon:g}",
                "seed": seed,
                "row by the columns": error(X, X.iloc[-1], by_columns(model, gap["first"])),
                "row by the encoder": error(X, X.iloc[-1], by_encoder(model, gap)),
                **mean_costs(model, X, exact, epsilon, seed),
            }
        )
    batch = summarise(model, X[-30:]).totals
    mean = by_columns(model, batch["first"] / 30)
    rows.append(
        {"summary": "batch of 30", "seed": seed, "row by the columns": error(X, X.iloc[-1], mean)}
    )
    nothing = summarise(model, X)
    nothing = SiteSummary(nothing.model, 1, {k: 0 * nothing.totals[k] for k in SUMS})
    rows.append({"summary": "no summary", "seed": seed, **costs(model, X, exact, nothing)})
    return rows


def error(X, row, found) -> float:
    gap = (found - row.to_numpy(dtype=float)) / X.to_numpy().std(0)
    return float(np.sqrt((gap**2).mean()))


def by_columns(model, first):
    ranges = np.array([middle_and_half(v) for v in model.fitted_.model.table.features])
    return ranges[:, 0] + ranges[:, 1] * first


def by_encoder(model, gap):
    """The row whose evidence for E is nearest to the difference of the encoder's sums."""
    fitted = model.fitted_.model
    features = fitted.table.features
    wanted = np.concatenate([gap["excess"].ravel(), gap["weighted"].ravel()])
    scale = np.abs(wanted) + 1e-6
    columns, variables, _ = sizes_of(fitted.table)

    def evidence(x):
        values = np.zeros((len(x), columns), dtype=np.float32)
        values[:, : len(features)] = x
        observed = np.zeros((len(x), variables), dtype=np.float32)
        observed[:, : len(features)] = 1.0
        found = row_evidence(fitted, Encoded(values, observed))
        both = [a.transpose(1, 0, 2).reshape(len(x), -1) for a in (found.excess, found.weighted)]
        return (np.concatenate(both, axis=1) - wanted) / scale

    def slopes(x):
        step = 1e-2
        near = np.concatenate([x + step * np.eye(len(x)), x - step * np.eye(len(x))])
        up, down = np.split(evidence(near), 2)
        return (up - down).T / (2 * step)

    rng = np.random.default_rng(0)
    tries = [
        least_squares(lambda x: evidence(x[None])[0], start, slopes, max_nfev=60)
        for start in rng.standard_normal((STARTS, len(features)))
    ]
    best = min(tries, key=lambda found: found.cost).x
    return np.array([v.decode(np.array([[z]]))[0] for v, z in zip(features, best, strict=True)])


def mean_costs(model, X, exact, epsilon, seed) -> dict:
    """Root mean squares over draws of the noise."""
    draws = [
        costs(model, X, exact, summarise(model, X, epsilon=epsilon, random_state=[seed, k]))
        for k in range(1 if epsilon is None else DRAWS)
    ]
    return {name: np.sqrt(np.mean([one[name] ** 2 for one in draws])) for name in draws[0]}


def costs(model, X, exact, summary) -> dict:
    found = adapt(model, summary)
    spread = model.source_environments_["E1_mean"].std()
    gap = (found.environment_["E1_mean"] - exact.environment_["E1_mean"]).iloc[0]
    predicted = exact.predict(X)
    moved = np.sqrt(np.mean((found.predict(X) - predicted) ** 2)) / predicted.std()
    return {"error of E": abs(gap) / spread, "change of predictions": moved}


if __name__ == "__main__":
    main()
