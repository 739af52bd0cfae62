"""How much of the gap between pooled models and the oracle DAPDAG closes on synthetic sites.

    python benchmarks/synthetic.py regression --seeds 0:20
    python benchmarks/synthetic.py classification --seeds 0:20

Ten sites a seed, the last one is the unlabelled target. Every method sees the same rows; the pooled
MLP of scikit-learn gets its inputs clipped to the sources' 1-99 % and standardised, and early
stopping; boosting gets early stopping as well.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.datasets import make_classification_domains, make_regression_domains

TARGET = 9


def clipped(estimator, X):
    """A pipeline that clips to the sources' 1-99 % and standardises first."""
    low, high = np.quantile(X, [0.01, 0.99], axis=0)
    clip = FunctionTransformer(lambda Z: np.clip(np.asarray(Z, dtype=float), low, high))
    return make_pipeline(clip, StandardScaler(), estimator)


def network_options(seed):
    return {
        "hidden_layer_sizes": (16, 16),
        "early_stopping": True,
        "n_iter_no_change": 20,
        "max_iter": 500,
        "random_state": seed,
    }


def boosting_options(seed):
    return {"early_stopping": True, "max_iter": 500, "learning_rate": 0.05, "random_state": seed}


def regression(seed, options):
    data = make_regression_domains(random_state=seed)
    split = data.leave_out(TARGET)
    mean, deviation = split.y.mean(), split.y.std()
    pooled = {
        "mlp": clipped(MLPRegressor(**network_options(seed)), split.X),
        "boosting": HistGradientBoostingRegressor(**boosting_options(seed)),
    }
    row = _domain_facts(data)
    for name, model in pooled.items():
        model.fit(split.X, (split.y - mean) / deviation)
        row[name] = _r2(split.y_target, mean + deviation * model.predict(split.X_target))
    ours = DAPDAGRegressor(**options).fit(split.X, split.y, sample_domain=split.sample_domain)
    predicted, std = ours.predict(split.X_target, return_std=True)
    row["dapdag"] = _r2(split.y_target, predicted)
    row["oracle"] = _r2(split.y_target, data.oracle(split.X_target, data.env[TARGET]))
    row["coverage"] = np.mean(np.abs(split.y_target - predicted) < 1.645 * std)
    return row | _environment_facts(data, split, ours)


def classification(seed, options):
    data = make_classification_domains(env_scale=2.0, random_state=seed)
    split = data.leave_out(TARGET)
    pooled = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "mlp": clipped(MLPClassifier(**network_options(seed)), split.X),
        "boosting": HistGradientBoostingClassifier(**boosting_options(seed)),
    }
    probability = {
        name: model.fit(split.X, split.y).predict_proba(split.X_target)[:, 1]
        for name, model in pooled.items()
    }
    ours = DAPDAGClassifier(**options).fit(split.X, split.y, sample_domain=split.sample_domain)
    probability["dapdag"] = ours.predict_proba(split.X_target)[:, 1]
    probability["oracle"] = data.oracle(split.X_target, data.env[TARGET])
    row = _domain_facts(data) | _environment_facts(data, split, ours)
    for name, p in probability.items():
        row[name] = log_loss(split.y_target, p, labels=[0, 1])
        row[f"auc {name}"] = roc_auc_score(split.y_target, p)
    return row


def _r2(y, predicted):
    return max(-1.0, r2_score(y, predicted))


def _domain_facts(data):
    sources = [data.env[d] for d in data.domains if d != TARGET]
    return {"inside": min(sources) <= data.env[TARGET] <= max(sources)}


def _environment_facts(data, split, estimator):
    new = estimator.environment(split.X_target)
    inferred = [*estimator.source_environments_["E1_mean"], new["E1_mean"].iloc[0]]
    correlation = abs(np.corrcoef(inferred, [data.env[d] for d in data.domains])[0, 1])
    return {"correlation": correlation, "flagged": bool(new["outside"].iloc[0])}


def report(table, pooled, prefix, unit):
    methods = [f"{prefix}{m}" for m in (*pooled, "dapdag", "oracle")]
    sign = 1 if unit != "log-loss" else -1
    best = max(methods[: len(pooled)], key=lambda m: sign * table[m].mean())
    ours, oracle = table[f"{prefix}dapdag"], table[f"{prefix}oracle"]
    print(f"\n{unit} over {len(table)} seeds: mean (s.e.), median")
    for m in methods:
        column = table[m]
        print(f"  {m:14s} {column.mean():.4f} ({column.sem():.4f})  {column.median():.4f}")
    closed = (ours.mean() - table[best].mean()) / (oracle.mean() - table[best].mean())
    print(f"  gap to the oracle closed, from the better pooled method ({best}): {closed:.1%}")
    for m in methods[: len(pooled)]:
        gain = sign * (ours - table[m])
        wins = (gain > 0).mean()
        print(f"  dapdag - {m}: {gain.mean():+.4f} ({gain.sem():.4f}), better in {wins:.0%}")
    for where, part in table.groupby("inside"):
        values = "  ".join(f"{m} {part[m].mean():.4f}" for m in methods)
        print(f"  target {'inside' if where else 'outside'} the sources ({len(part)}): {values}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=["regression", "classification"])
    parser.add_argument("--seeds", default="0:20", help="first:last+1")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="our options")
    arguments = parser.parse_args()
    first, last = map(int, arguments.seeds.split(":"))
    options = {k: _value(v) for k, v in (s.split("=") for s in arguments.set)}
    warnings.filterwarnings("ignore", category=UserWarning, module="sklearn")
    run = regression if arguments.task == "regression" else classification
    table = pd.DataFrame([run(seed, options) for seed in range(first, last)])
    if arguments.task == "regression":
        report(table, ["mlp", "boosting"], "", "R2 (clipped at -1)")
        inside = table[table["inside"]]
        print(
            f"  90 % intervals cover {inside['coverage'].mean():.3f} inside, "
            f"{table[~table['inside']]['coverage'].mean():.3f} outside the sources"
        )
    else:
        report(table, ["logistic", "mlp", "boosting"], "", "log-loss")
        report(table, ["logistic", "mlp", "boosting"], "auc ", "AUC")
    print(
        f"  |correlation| of inferred and true E: mean {table['correlation'].mean():.3f}, "
        f"lowest {table['correlation'].min():.3f}"
    )
    agree = (table["flagged"] == ~table["inside"]).mean()
    print(
        f"  flagged as outside: {table['flagged'].sum()} of {(~table['inside']).sum()} "
        f"(agrees with the truth in {agree:.0%})"
    )


def _value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"True": True, "False": False, "None": None}.get(text, text)


if __name__ == "__main__":
    main()
