"""Known sites: time for one row, coverage of the interval of a site's mean, tests for drift.

    python benchmarks/sites.py time
    python benchmarks/sites.py means --seeds 0:3
    python benchmarks/sites.py scores --seeds 0:3
    DAPDAG_DATA=folder python benchmarks/sites.py scores --cases uci_heart impact_tbi
    python benchmarks/sites.py drift --seeds 0:2
    python benchmarks/sites.py features --seeds 0:3

`time`: median over rows of `SiteModel.predict` or `predict_proba` of one row (a DataFrame of one
row), warm, beside `predict` of the estimator for the whole site; a fit of default size each.
`means`: a fit on 8 simulated sites; the share of 22 further ones whose observed mean label lies in
the 90 % interval of `mean_interval`. `scores`: the same of each score of `expected_score`, at
simulated sites or at every site of a real table, left out in turn. `drift`: sites of 600 rows in 6
periods, half of whose rows come from a site with another E in the second case; the share in which
`track` rejects at 5 %.
`features`: a linear model and boosting on the sources with and without `EnvironmentFeatures`.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from dapdag import DAPDAGClassifier, DAPDAGRegressor, EnvironmentFeatures
from dapdag.datasets import make_classification_domains, make_maggic_like, make_regression_domains
from dapdag.datasets.real import LOADERS
from dapdag.explain import track
from dapdag.inference.uncertainty import IN_THE_LARGE

CASES = {
    "regression": (DAPDAGRegressor, make_regression_domains, 9),
    "classification": (DAPDAGClassifier, make_classification_domains, 9),
    "mixed columns": (DAPDAGClassifier, make_maggic_like, 8),
}


def simulated(make, n_sites, seed):
    if make is make_maggic_like:
        data = make(n_studies=n_sites, n_samples=400, random_state=seed)
    else:
        data = make(n_domains=n_sites, n_samples=400, random_state=seed)
    return data.leave_out(data.domains[-1])


def milliseconds(function, arguments):
    """Medians over the arguments of the time of a call, and of the processor's time for it.

    The first call compiles and does not count. Where other programs run, the processor's time is
    what the call costs.
    """
    function(arguments[0])
    clocks = time.perf_counter, time.process_time
    times = []
    for argument in arguments:
        before = [clock() for clock in clocks]
        function(argument)
        times.append([clock() - start for clock, start in zip(clocks, before, strict=True)])
    return 1e3 * np.median(times, axis=0)


def measure(case, seed):
    make_estimator, make_data, n_sites = CASES[case]
    split = simulated(make_data, n_sites, seed)
    model = make_estimator(random_state=seed)
    model.fit(split.X, split.y, sample_domain=split.sample_domain)
    site = model.at(split.X_target)
    ask = getattr(site, "predict_proba", site.predict)
    rows = [split.X_target.iloc[[i]] for i in range(300)]
    one = milliseconds(ask, rows)
    whole = milliseconds(getattr(model, "predict_proba", model.predict), [split.X_target] * 5)
    graph = site.expert_weights_["graph"]
    print(
        f"{case}: {split.X.shape[1]} columns, weight of the graph {graph:.1f}; one row at a known "
        f"site {one[0]:.2f} ms (processor {one[1]:.2f} ms), predict of {len(split.X_target)} rows "
        f"{whole[0]:.0f} ms (processor {whole[1]:.0f} ms)"
    )


def simulate_many(case, n_sites, n_rows, seed):
    """A model of the first 8 sites, and (rows, labels, E) of the others."""
    make_estimator, make_data, _ = CASES[case]
    data = make_data(n_domains=n_sites, n_samples=n_rows, random_state=seed)
    sources = np.isin(data.sample_domain, range(8))
    model = make_estimator(random_state=seed)
    model.fit(data.X[sources], data.y[sources], sample_domain=data.sample_domain[sources])
    others = []
    for domain in range(8, n_sites):
        own = data.sample_domain == domain
        X, y = (part[own].reset_index(drop=True) for part in (data.X, data.y))
        others.append((X, y, float(np.ravel(data.env[domain])[0])))
    return model, others


def means(case, seed):
    """How many of the new sites have a mean label within its interval."""
    model, others = simulate_many(case, 30, 300, seed)
    inside, widths = [], []
    for X, y, _ in others:
        interval = model.at(X).mean_interval(X, coverage=0.9)
        low, high = interval[1] if interval.ndim == 2 else interval
        inside.append(low <= float(np.mean(y)) <= high)
        widths.append(high - low)
    print(
        f"{case}, seed {seed}: {np.mean(inside):.2f} of {len(inside)} new sites within their 90 % "
        f"interval, mean width {np.mean(widths):.3f}",
        flush=True,
    )
    return np.mean(inside)


def left_out_in_turn(name, seed, rows=400, most_sites=15):
    """(model, rows, labels) of sites of a real table, each left out of the fit; few rows a site."""
    data = LOADERS[name]()
    rng = np.random.default_rng(seed)
    for domain in data.domains[:most_sites]:
        split = data.leave_out(domain)
        own = pd.Series(split.sample_domain).groupby(split.sample_domain, sort=False).indices
        kept = np.concatenate([rng.permutation(at)[:rows] for at in own.values()])
        new = rng.permutation(len(split.X_target))[:rows]
        make = DAPDAGClassifier if split.y.nunique() == 2 else DAPDAGRegressor
        model = make(random_state=seed)
        model.fit(split.X.iloc[kept], split.y.iloc[kept], sample_domain=split.sample_domain[kept])
        X, y = (part.iloc[new].reset_index(drop=True) for part in (split.X_target, split.y_target))
        yield model, X, y


def realised(site, X, y):
    """The scores that `expected_score` names."""
    if not hasattr(site, "classes_"):
        error = y - site.predict(X)
        rmse = np.sqrt((error**2).mean())
        return {"r2": 1 - rmse**2 / y.var(ddof=0), "rmse": rmse, IN_THE_LARGE: error.mean()}
    p, y = site.predict_proba(X)[:, 1], (y == site.classes_[1]).astype(float)
    eta = logit(np.clip(p, 1e-6, 1 - 1e-6))
    known = y.nunique() == 2
    return {
        "auc": roc_auc_score(y, p) if known else np.nan,
        "log_loss": log_loss(y, p, labels=[0, 1]),
        "brier": np.mean((y - p) ** 2),
        IN_THE_LARGE: brentq(lambda a: (y - expit(a + eta)).sum(), -9, 9) if known else np.nan,
    }


def scores(case, seed):
    """Share of new sites whose score lies within its 90 % interval, for every score."""
    if case in CASES:
        model, others = simulate_many(case, 30, 300, seed)
        sites = ((model, X, y) for X, y, _ in others)
    else:
        sites = left_out_in_turn(case, seed)
    inside, errors, widths = [], [], []
    for model, X, y in sites:
        site = model.at(X)
        told = site.expected_score()
        found = pd.Series(realised(site, X, y))[told.index]
        within = (found >= told["low"]) & (found <= told["high"])
        inside.append(within.astype(float).where(found.notna()))
        errors.append(found - told["expected"])
        widths.append(told["high"] - told["low"])
    shares = pd.DataFrame(inside).mean()
    text = ", ".join(
        f"{name} {share:.2f} (mean difference {pd.DataFrame(errors)[name].mean():+.3f}, "
        f"mean width {pd.DataFrame(widths)[name].mean():.3f})"
        for name, share in shares.items()
    )
    print(f"{case}, seed {seed}, {len(inside)} new sites within: {text}", flush=True)
    return list(shares)


def drift(case, seed, replicates=100):
    """Share of simulated sites in which the test rejects: without a move, and with one."""
    model, others = simulate_many(case, 20, 1200, seed)
    rng = np.random.default_rng(seed)
    time = np.arange(600)
    still = moved = 0
    distance = []
    for _ in range(replicates):
        one, other = rng.choice(len(others), size=2, replace=False)
        X = others[one][0].iloc[rng.permutation(1200)[:600]].reset_index(drop=True)
        still += track(model, X, time, periods=6, permutations=199).moved
        later = others[other][0].iloc[rng.permutation(1200)[:300]]
        X = pd.concat([X[:300], later], ignore_index=True)
        moved += track(model, X, time, periods=6, permutations=199).moved
        distance.append(abs(others[one][2] - others[other][2]))
    print(
        f"{case}, seed {seed}: rejected in {still / replicates:.2f} of {replicates} sites that "
        f"stayed, in {moved / replicates:.2f} of those whose E moved (by {np.mean(distance):.2f} "
        "in the mean; the sources' E has standard deviation 1)",
        flush=True,
    )
    return still / replicates


def features(case, seed):
    """R² or log-loss at four new sites, with and without E of the site as a column."""
    make_estimator, make_data, _ = CASES[case]
    data = make_data(n_domains=20, n_samples=300, random_state=seed)
    sources = np.isin(data.sample_domain, range(16))
    y, truth = data.y[sources], data.y[~sources]
    maker = EnvironmentFeatures(make_estimator(random_state=seed))
    with_e = (
        maker.fit_transform(data.X[sources], y, data.sample_domain[sources]),
        maker.transform(data.X[~sources], data.sample_domain[~sources]),
    )
    tables = {"without": (data.X[sources], data.X[~sources]), "with": with_e}
    if make_estimator is DAPDAGRegressor:
        models = {"linear": LinearRegression(), "boosting": HistGradientBoostingRegressor()}
    else:
        models = {"linear": LogisticRegression(max_iter=1000)}
        models["boosting"] = HistGradientBoostingClassifier()
    found = {}
    for method, model in models.items():
        for name, parts in tables.items():
            rows, new = (pd.get_dummies(part).astype(float) for part in parts)
            model.fit(rows, y)
            if make_estimator is DAPDAGRegressor:
                found[f"{method} {name}"] = r2_score(truth, model.predict(new))
            else:
                found[f"{method} {name}"] = log_loss(truth, model.predict_proba(new))
    text = ", ".join(f"{k} {v:.3f}" for k, v in found.items())
    print(f"{case}, seed {seed}: {text}", flush=True)
    return list(found.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("time", "means", "scores", "drift", "features"))
    parser.add_argument("--cases", nargs="+", choices=[*CASES, *LOADERS])
    parser.add_argument("--seeds", default="0:1", help="first:last+1, below 100")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    runs = {"time": measure, "means": means, "scores": scores, "drift": drift, "features": features}
    run = runs[arguments.what]
    simulated_only = ["regression", "classification"]
    for name in arguments.cases or (list(CASES) if run is measure else simulated_only):
        found = [run(name, seed) for seed in range(*map(int, arguments.seeds.split(":")))]
        if run is not measure:
            print(f"{name}: {np.mean(found, axis=0).round(3)} over {len(found)} fit(s)", flush=True)
