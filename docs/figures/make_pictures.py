"""Train the models of two examples and draw what the manual shows of them.

    python docs/figures/make_pictures.py

takes a minute and writes the pictures beside it; the report's needs Chromium.
"""

import runpy
import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib as mpl

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag._runtime.files import atomic_write
from dapdag.datasets import make_regression_domains
from dapdag.effects import environment_effects
from dapdag.plotting import plot_environment_effects, plot_environments, plot_graph
from dapdag.report import write_report

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"


def save(ax: mpl.axes.Axes, name: str) -> None:
    with atomic_write(HERE / f"{name}.svg") as path:
        ax.figure.savefig(path, metadata={"Date": None}, facecolor="white", bbox_inches="tight")


def first_steps() -> None:
    data = make_regression_domains(n_domains=8, n_samples=300, random_state=30)
    split = data.leave_out(7)
    model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
    save(plot_graph(model.graph_, truth=data.graph), "example-graph")
    save(plot_environment_effects(environment_effects(model, split.X, split.y)), "example-effects")


def hospitals() -> None:
    script = runpy.run_path(str(EXAMPLES / "multi_hospital.py"))
    table = script["hospitals"]()
    new = table["hospital"].isin(script["NEW"])
    features = table.columns.drop(["hospital", "survived"])
    X, site = table.loc[new, features], table.loc[new, "hospital"]
    model = DAPDAGClassifier().fit(
        table.loc[~new, features],
        table.loc[~new, "survived"],
        sample_domain=table.loc[~new, "hospital"],
    )
    environments = model.environment(X, sample_domain=site)
    save(plot_environments(model.source_environments_, environments), "hospitals-environments")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report(model, page, X=X, sample_domain=site, title="Two new hospitals")
        photograph(page, "hospitals-report")


def photograph(page: Path, name: str) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("no Chromium here: the picture of the report stays as it is")
        return
    with atomic_write(HERE / f"{name}.png") as path:
        subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                *("--window-size=1000,1250", f"--screenshot={path}", page.as_uri()),
            ],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "dapdag"
    first_steps()
    hospitals()
