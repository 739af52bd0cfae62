"""How sure directions are on the measured tables, for GraphSearch and for R²-SortnRegress.

    DAPDAG_DATA=folder OMP_NUM_THREADS=1 python benchmarks/sachs_directions.py

Prints, for every pair of sachs that either finds, by how many nats each condition alone prefers the
consensus direction, and the t statistic over conditions; how many true edges of sachs and chamber
lead to a higher R², which is what R²-SortnRegress relies on; and wrong edges on random halves
of the conditions and, for R²-SortnRegress, on redrawn rows.
"""

import argparse

import numpy as np
import pandas as pd
from graph_scenarios import SCENARIOS

from dapdag import GraphSearch
from dapdag.graph import compare_graphs
from dapdag.graph_baselines.sorting import explained_variance, r2_sort_n_regress

PAIRS = (
    *(("praf", "pmek"), ("plcg", "PIP2"), ("plcg", "PIP3"), ("PIP3", "PIP2")),
    *(("p44/42", "pakts473"), ("PKA", "p44/42"), ("PKA", "pakts473")),
    *(("PKC", "P38"), ("PKC", "pjnk")),
)


def preferred(X, cause, effect):
    """Nats by which the rows prefer cause → effect to its reversal, at one site."""
    pair = X[[cause, effect]]
    forth = GraphSearch(required_edges=[(cause, effect)]).fit(pair)
    back = GraphSearch(required_edges=[(effect, cause)]).fit(pair)
    return forth.log_evidence_ - back.log_evidence_


def centred(X, site):
    return X - X.groupby(site).transform("mean")


def wrong(graph, case):
    return compare_graphs(graph, case.graph).shd


def halves(case, find, n_draws, rng):
    """Wrong edges of graphs found on random halves of the sites, rounded up."""
    sites = np.unique(case.sample_domain)
    out = []
    for _ in range(n_draws):
        kept = np.isin(case.sample_domain, rng.choice(sites, (len(sites) + 1) // 2, replace=False))
        out.append(wrong(find(case.X[kept], case.sample_domain[kept]), case))
    return out


def redrawn(case, find, n_draws, rng):
    """The same on rows that are drawn with replacement within sites."""
    groups = [np.flatnonzero(case.sample_domain == m) for m in np.unique(case.sample_domain)]
    out = []
    for _ in range(n_draws):
        rows = np.concatenate([rng.choice(own, len(own)) for own in groups])
        X = case.X.iloc[rows].reset_index(drop=True)
        out.append(wrong(find(X, case.sample_domain[rows]), case))
    return out


def show(words, values):
    print(f"{words}: {np.mean(values):.1f} wrong edges on average, {min(values)} to {max(values)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100, help="for R²-SortnRegress")
    parser.add_argument("--searches", type=int, default=16, help="on halves of the conditions")
    options = parser.parse_args()
    case = SCENARIOS["sachs"](0)
    rows = {}
    for cause, effect in PAIRS:
        by_site = [preferred(own, cause, effect) for _, own in case.X.groupby(case.sample_domain)]
        t = np.mean(by_site) / np.std(by_site, ddof=1) * np.sqrt(len(by_site))
        rows[f"{cause} → {effect}"] = [*np.round(by_site).astype(int), round(t, 1)]
    names = [*np.unique(case.sample_domain), "t"]
    print(pd.DataFrame(rows, index=names).T.to_string(), flush=True)
    for name in ("sachs", "chamber"):
        own = SCENARIOS[name](0)
        r2 = pd.Series(explained_variance(centred(own.X, own.sample_domain)), own.X.columns)
        ascending = sum(r2[a] < r2[b] for a, b in own.graph.edges)
        print(f"{name}: R² ascends along {ascending} of {own.graph.number_of_edges()} edges")
        print(r2.sort_values().round(2).to_dict(), flush=True)

    def sort(X, site):
        return r2_sort_n_regress(centred(X, site))

    rng = np.random.default_rng(0)
    show("R²-SortnRegress, rows redrawn", redrawn(case, sort, options.draws, rng))
    show("R²-SortnRegress, half of the conditions", halves(case, sort, options.draws, rng))
    found = halves(case, lambda X, site: GraphSearch().fit(X, site).graph_, options.searches, rng)
    show("GraphSearch, half of the conditions", found)


if __name__ == "__main__":
    main()
