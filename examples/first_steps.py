"""First steps: learn from seven simulated sites, predict an eighth, look at E and at the graph.

Everything is known about simulated data, so that the predictions, the environments and the graph
can be compared with the truth.

    python examples/first_steps.py

writes two pictures to example-output.
"""

from pathlib import Path

import numpy as np

from dapdag import DAPDAGRegressor
from dapdag.datasets import make_regression_domains
from dapdag.graph import compare_graphs
from dapdag.plotting import plot_environments, plot_graph

OUTPUT = Path("example-output")


def main() -> None:
    data = make_regression_domains(n_domains=8, n_samples=300, random_state=30)
    split = data.leave_out(7)
    print(f"{len(split.X)} labelled rows of 7 sites; site 7 is new and has no labels")

    model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)

    # The new site: no retraining, its E is read off its rows.
    low, high = model.predict_interval(split.X_target, coverage=0.9).T
    inside = np.mean((low <= split.y_target) & (split.y_target <= high))
    print(f"R² at the new site: {model.score(split.X_target, split.y_target):.3f}")
    print(f"labels within their 90 % interval: {inside:.1%}")

    found = model.environment(split.X_target)
    print("\nE of the sources, in the model's own units:")
    print(model.source_environments_.round(2).to_string())
    print("\nE of the new site:")
    print(found.round(2).to_string())
    true = [data.env[k] for k in model.source_environments_.index]
    correlation = np.corrcoef(true, model.source_environments_["E1_mean"])[0, 1]
    print(
        f"correlation with the true E over the sources: {correlation:.2f} (its sign is arbitrary)"
    )

    comparison = compare_graphs(model.graph_, data.graph)
    print(f"\nGraph: {model.graph_.number_of_edges()} edges, all acyclic")
    print(
        f"distance to the true graph: {comparison.shd} ({comparison.missing} missing, "
        f"{comparison.extra} extra, {comparison.reversed} turned around); a graph without edges: "
        f"{data.graph.number_of_edges()}"
    )

    OUTPUT.mkdir(exist_ok=True)
    plot_graph(model.graph_, truth=data.graph).figure.savefig(OUTPUT / "graph.png")
    known = {**data.env, "new": data.env[7]}
    ax = plot_environments(model.source_environments_, found, true=known)
    ax.figure.savefig(OUTPUT / "environments.png")
    print(f"\nWritten to {OUTPUT}: graph.png, environments.png")


if __name__ == "__main__":
    main()
