"""The demonstration's pictures and predictions as files."""

import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from .. import plotting
from .._runtime.files import atomic_write_bytes, atomic_write_text
from ..estimators import DAPDAGClassifier
from .case import Demo
from .picture import draw_demo

DPI = 150
RIM = 0.12  # inches around every panel


def write_files(demo: Demo, folder: Path) -> list[Path]:
    """Write the pictures, together and one by one, and the predictions; return their paths."""
    contents = {
        "demo.png": _together(demo),
        "environments.png": _alone(draw_environments, demo, (6.4, 4.2)),
        "true-vs-inferred.png": _alone(draw_true_vs_inferred, demo, (5.2, 4.6)),
        "graph.png": _alone(draw_graph, demo, (8.0, 3.6)),
        "predictions.png": _alone(draw_predictions, demo, (4.8, 4.8)),
    }
    for name, png in contents.items():
        atomic_write_bytes(folder / name, png)
    table = folder / "predictions.csv"
    atomic_write_text(
        table, prediction_table(demo).to_csv(index=False, float_format="%.6g", lineterminator="\n")
    )
    return [*(folder / name for name in contents), table]


def prediction_table(demo: Demo) -> pd.DataFrame:
    """The new site's rows with the actual label and every method's prediction of it."""
    actual = demo.split.y_target
    table = demo.split.X_target.assign(**{str(actual.name): actual})
    for method, found in demo.predictions.items():
        name = method.replace(" ", "_").lower()
        table[name] = found.mean
        if found.interval is not None:
            table[f"{name}_low"], table[f"{name}_high"] = found.interval.T
    return table


def draw_environments(demo: Demo, ax: Axes) -> None:
    plotting.plot_environments(*_environments(demo), ax=ax, true=_true_environments(demo))


def draw_true_vs_inferred(demo: Demo, ax: Axes) -> None:
    plotting.plot_true_vs_inferred(_true_environments(demo), *_environments(demo), ax=ax)


def draw_graph(demo: Demo, ax: Axes) -> None:
    plotting.plot_graph(demo.model.graph_, truth=demo.data.graph, ax=ax)


def draw_predictions(demo: Demo, ax: Axes) -> None:
    actual = demo.split.y_target
    if isinstance(demo.model, DAPDAGClassifier):
        plotting.plot_calibration(actual, demo.predictions["dapdag"].mean, ax=ax)
    else:
        mean, std = demo.model.predict(demo.split.X_target, return_std=True)
        plotting.plot_predictions(actual, mean, std, ax=ax)


def _environments(demo: Demo) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of the sources and of the new site."""
    return (
        demo.model.source_environments_.rename(index="site {}".format),
        demo.environment.rename(index="site {}".format),
    )


def _true_environments(demo: Demo) -> dict[str, float]:
    return {f"site {site}": env for site, env in demo.data.env.items()}


def _together(demo: Demo) -> bytes:
    figure = _figure((14.0, 8.6))
    draw_demo(demo, figure)
    return _png(figure)


def _alone(draw: Callable[[Demo, Axes], None], demo: Demo, size: tuple[float, float]) -> bytes:
    figure = _figure(size)
    draw(demo, figure.add_subplot())
    return _png(figure)


def _figure(size: tuple[float, float]) -> Figure:
    """A figure that no window system and no pyplot knows of."""
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=RIM, h_pad=RIM))
    FigureCanvasAgg(figure)
    return figure


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()
