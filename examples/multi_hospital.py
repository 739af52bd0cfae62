"""Several hospitals: mixed types, missing cells, a feature that a new one lacks, a report.

The patients are simulated, so that this runs anywhere; the trouble is that of real tables.

    python examples/multi_hospital.py

writes the report to example-output/hospitals.html.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

from dapdag import DAPDAGClassifier
from dapdag.datasets import make_maggic_like
from dapdag.report import write_report

OUTPUT = Path("example-output")
# E of the hospitals; the last two are new: one like the others, one beyond them all.
ENV = (-1.4, -0.9, -0.4, 0.0, 0.5, 1.0, 1.4, 0.8, 2.6)
NEW = ["S08", "S09"]


def hospitals() -> pd.DataFrame:
    """One row per patient, with numbers, text, empty cells, the hospital and the outcome."""
    data = make_maggic_like(len(ENV), 300, env=ENV, gaps=0.0, random_state=1)
    table = data.X.copy()
    classes = table[["nyha_1", "nyha_2", "nyha_3"]]
    stage = np.select([classes[c] == 1 for c in classes], ["I", "II", "III"], default="IV")
    table["nyha"] = pd.Series(stage, index=table.index).where(classes.notna().all(axis=1))
    table["sex"] = table["sex"].map({0.0: "female", 1.0: "male"})
    table = table.drop(columns=list(classes))
    return table.assign(hospital=data.sample_domain, survived=data.y)


def main() -> None:
    table = hospitals()
    new = table["hospital"].isin(NEW)
    sources, target = table[~new], table[new].dropna(subset="survived")
    print(f"{len(sources)} patients of {sources['hospital'].nunique()} hospitals to learn from")

    # Rows without an outcome still help to learn E and the decoder: NaN in y is allowed.
    model = DAPDAGClassifier().fit(
        sources.drop(columns=["hospital", "survived"]),
        sources["survived"],
        sample_domain=sources["hospital"],
    )
    print("\nWhat was made of the columns:")
    print(model.schema_[["kind", "missing", "note"]].round(2).to_string())

    X, site = target.drop(columns=["hospital", "survived"]), target["hospital"]
    span = model.source_environments_["E1_mean"]
    print(f"\nE of the new hospitals; the sources span {span.min():.2f} to {span.max():.2f}:")
    print(model.environment(X, sample_domain=site).round(2).to_string())

    print("\nPredictions, each hospital under its own E:")
    show(model, X, target)
    print("\nThe same if nobody there had measured the ejection fraction:")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        show(model, X.assign(ejection_fraction=np.nan), target)
    for warning in caught:
        print(f"  warning: {warning.message}")

    filled = model.impute(X, sample_domain=site)
    print(f"\n{int(X.isna().sum().sum())} missing cells imputed, {filled.isna().sum().sum()} left")

    OUTPUT.mkdir(exist_ok=True)
    write_report(model, OUTPUT / "hospitals.html", X=X, sample_domain=site, title="Two hospitals")
    print(f"Written: {OUTPUT / 'hospitals.html'}, for a browser")


def show(model: DAPDAGClassifier, X: pd.DataFrame, target: pd.DataFrame) -> None:
    """Scores of the new hospitals, which only a simulation can know."""
    probability = model.predict_proba(X, sample_domain=target["hospital"])[:, 1]
    for name, rows in target.reset_index().groupby("hospital"):
        y, p = rows["survived"], probability[rows.index]
        print(
            f"  {name}: AUC {roc_auc_score(y, p):.3f}, log-loss {log_loss(y, p):.3f}, mean "
            f"probability {p.mean():.2f}, observed {y.mean():.2f}"
        )


if __name__ == "__main__":
    main()
