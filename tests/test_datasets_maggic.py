"""MAGGIC: what a file must look like, what is said of one that does not, and a made-up one."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import log_loss

from dapdag.datasets import load_maggic, make_maggic_like
from dapdag.datasets.maggic import LABEL, MAGGIC_VARIABLES, MaggicVariable
from dapdag.datasets.maggic_like import PAPER_SIZES, Bounded, as_maggic_table

NAMES = [v.name for v in MAGGIC_VARIABLES]


@pytest.fixture(scope="module")
def made_up():
    return make_maggic_like(random_state=0)


@pytest.fixture
def table():
    return as_maggic_table(make_maggic_like(3, 20, random_state=1))


def written(table, folder, name="maggic.csv"):
    path = folder / name
    table.to_csv(path, index=False)
    return path


class TestFile:
    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_round_trip(self, made_up, tmp_path, suffix):
        path = tmp_path / f"maggic.{suffix}"
        table = as_maggic_table(made_up)
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
        data = load_maggic(path)
        pd.testing.assert_frame_equal(data.X, made_up.X)
        pd.testing.assert_series_equal(data.y, made_up.y)
        assert data.domains == made_up.domains
        assert data.task == "classification"
        assert data.y.isna().any() and data.X.isna().any(axis=None)

    def test_other_names_and_further_columns(self, table, tmp_path):
        theirs = table.rename(columns={"age": "AGE", "study": "trial"}).assign(site=1)
        data = load_maggic(written(theirs, tmp_path), columns={"age": "AGE", "study": "trial"})
        assert list(data.X.columns) == NAMES
        with pytest.raises(ValueError, match=r"columns: \['Alter'\] are not among the expected"):
            load_maggic(written(theirs, tmp_path), columns={"Alter": "AGE"})

    def test_other_variables(self, tmp_path):
        table = pd.DataFrame({"study": ["a", "b"], LABEL: [0, 1], "bmi": [22.0, 31.0]})
        bmi = MaggicVariable("bmi", "number", "kg/m²", 10, 80)
        data = load_maggic(written(table, tmp_path), variables=[bmi])
        assert data.X["bmi"].tolist() == [22.0, 31.0]


class TestProblems:
    def test_missing_columns(self, table, tmp_path):
        path = written(table.drop(columns=["age", "nyha_2"]), tmp_path)
        with pytest.raises(
            ValueError, match=r"maggic\.csv lacks the column\(s\) \['age', 'nyha_2'\]"
        ):
            load_maggic(path)
        with pytest.raises(ValueError, match=r"\['years \(for age\)', 'nyha_2'\]"):
            load_maggic(path, columns={"age": "years"})

    def test_wrong_separator(self, table, tmp_path):
        path = tmp_path / "maggic.csv"
        table.to_csv(path, index=False, sep=";")
        with pytest.raises(ValueError, match="Is it comma-separated?"):
            load_maggic(path)

    def test_cells(self, table, tmp_path):
        table = table.astype({"age": object})
        table.loc[4, "age"] = "old"
        table.loc[[2, 7], "sex"] = 2
        table.loc[9, "ejection_fraction"] = 0.35
        table.loc[5, "study"] = None
        table.loc[6, LABEL] = 7
        table.loc[3, ["nyha_1", "nyha_2"]] = 1
        with pytest.raises(ValueError) as caught:
            load_maggic(written(table, tmp_path))
        message = str(caught.value)
        assert "column 'age' holds 'old', which is not a number, in row 5" in message
        assert "column 'sex' holds 2.0, not 0 or 1, in row 3 and 1 more" in message
        assert "'ejection_fraction' holds 0.35, not from 1 to 100 (left ventricle" in message
        assert "column 'study' is empty in row 6" in message
        assert f"column '{LABEL}' holds 7.0, not 0 or 1, in row 7" in message
        assert "nyha_1, nyha_2, nyha_3: more than one is 1 in row 4" in message

    def test_no_label_at_all(self, table, tmp_path):
        with pytest.raises(ValueError, match=f"column '{LABEL}' is empty everywhere"):
            load_maggic(written(table.assign(**{LABEL: np.nan}), tmp_path))

    def test_repeated_columns(self, tmp_path):
        path = tmp_path / "maggic.csv"
        path.write_text("study,age,age\na,1,2\n")
        with pytest.raises(ValueError, match=r"column\(s\) \['age'\] appear more than once"):
            load_maggic(path)

    def test_files_that_are_none(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="not public: ask the group"):
            load_maggic(tmp_path / "maggic.csv")
        (tmp_path / "maggic.xlsx").write_bytes(b"")
        with pytest.raises(ValueError, match=r"expected a \.csv or \.parquet file"):
            load_maggic(tmp_path / "maggic.xlsx")
        (tmp_path / "maggic.csv").write_text("")
        with pytest.raises(ValueError, match="cannot be read as a table"):
            load_maggic(tmp_path / "maggic.csv")
        (tmp_path / "maggic.csv").write_text(",".join(["study", LABEL, *NAMES]) + "\n")
        with pytest.raises(ValueError, match="has a header but no rows"):
            load_maggic(tmp_path / "maggic.csv")


class TestMadeUpStudies:
    def test_shape_of_the_paper(self, made_up):
        assert made_up.X.shape == (sum(PAPER_SIZES), 12)
        assert list(made_up.X.columns) == NAMES
        sizes = pd.Series(made_up.sample_domain).value_counts(sort=False)
        assert sizes.tolist() == list(PAPER_SIZES)
        assert made_up.domains[:2] == ["S01", "S02"]

    def test_holes(self, made_up):
        by_study = made_up.X.isna().groupby(made_up.sample_domain).mean()
        whole = (by_study == 1).to_numpy()
        assert 0 < whole.mean() < 0.25
        assert not whole.all(axis=0).any()
        assert whole.sum(axis=1).max() <= 6
        assert 0.05 < by_study.to_numpy()[~whole].mean() < 0.15
        assert 0 < made_up.y.isna().mean() < 0.05

    def test_most_patients_survive(self, made_up):
        assert 0.7 < made_up.y.mean() < 0.92

    def test_no_holes_on_demand(self):
        data = make_maggic_like(4, 30, missing=0, gaps=0, unlabelled=0)
        assert data.X.notna().all(axis=None) and data.y.notna().all()

    def test_studies_differ_by_their_environment(self):
        data = make_maggic_like(3, 2000, env=[-2.0, 0.0, 2.0], missing=0, gaps=0, unlabelled=0)
        mean = data.X.groupby(data.sample_domain).mean()
        assert mean["ejection_fraction"].is_monotonic_increasing
        assert mean["nyha_1"].is_monotonic_decreasing
        assert data.env == {"S01": -2.0, "S02": 0.0, "S03": 2.0}

    def test_oracle_beats_one_that_ignores_the_environment(self):
        data = make_maggic_like(2, 3000, env=[-2.0, 2.0], missing=0, gaps=0, unlabelled=0)
        own = np.array([data.env[s] for s in data.sample_domain])
        knows = log_loss(data.y, data.oracle(data.X, own))
        assert knows < log_loss(data.y, data.oracle(data.X, 0.0)) - 0.02
        assert data.oracle(data.X, own).mean() == pytest.approx(data.y.mean(), abs=0.02)

    def test_graph(self, made_up):
        assert nx.is_directed_acyclic_graph(made_up.graph)
        assert set(made_up.graph) == {*NAMES, LABEL}
        assert made_up.graph.has_edge("angina", "myocardial_infarction")
        assert not made_up.graph.nodes["angina"]["perturbed"]

    def test_reproducible(self, made_up):
        pd.testing.assert_frame_equal(made_up.X, make_maggic_like(random_state=0).X)

    def test_bad_shares(self):
        with pytest.raises(ValueError, match="gaps must be a share"):
            make_maggic_like(gaps=1.0)

    def test_bounded_law_is_a_distribution(self):
        law, location = Bounded(2.0, -1.0, 3.0), np.zeros(1)
        grid = np.linspace(-1, 3, 4001)[1:-1]
        inside = np.exp(law.log_prob(grid, np.zeros(len(grid)))).sum() * (4 / 4000)
        ends = np.exp(law.log_prob(np.array([-1.0, 3.0]), np.zeros(2))).sum()
        assert inside + ends == pytest.approx(1.0, abs=1e-3)
        drawn = law.sample(np.repeat(location, 4000), np.random.default_rng(0))
        assert np.mean(drawn == -1.0) == pytest.approx(norm.cdf(-0.5), abs=0.03)
