"""How well the outcomes of the new sites will be predicted, before they are known."""

import pandas as pd

from ..._runtime.text import number, score
from ...evaluate.clinical.estimates import STATISTICS
from ...evaluate.metrics import METRICS
from ..facts import New
from ..markup import Markup, markup, paragraph, table, tag


def expected(new: New) -> Markup | None:
    """Scores that the labels of each new site are expected to give, with 90 % intervals."""
    if not new.expected:
        return None
    several = len(new.domains) > 1
    rows = []
    for site, found in new.expected.items():
        known = found.dropna()
        for name, one in known.iterrows():
            cells = [_title(str(name)), *_numbers(str(name), one)]
            rows.append([site, *cells] if several else cells)
    headings = [*(["Site"] if several else []), "Score", "Expected", "90\u202f% interval"]
    return markup(
        [
            tag("h3", "How well this will do, as far as can be said without outcomes"),
            paragraph(
                "Computed from the predictions themselves, and corrected by how far such "
                "expectations were off at sources that were left out. A site whose outcomes arise "
                "in another way than at all sources does worse, and only outcomes can show it."
            ),
            table(headings, rows, "Expected performance", numeric=[len(headings) - 2]),
        ]
    )


def _title(name: str) -> str:
    return METRICS[name].title if name in METRICS else STATISTICS[name].title


def _numbers(name: str, one: pd.Series) -> tuple[str, str]:
    """Expected value and interval; errors of numbers are in units of the label."""
    say = number if name in ("rmse", "calibration_in_the_large") else score
    return say(float(one["expected"])), f"{say(float(one['low']))} to {say(float(one['high']))}"
