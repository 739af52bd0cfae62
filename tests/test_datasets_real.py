"""Loaders of published data: the prepared tables, the publishers' own files, and bad files."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from dapdag.datasets import real
from dapdag.datasets.real.sachs import PROTEINS


def one_file(folder, name, text, subfolder=None):
    place = folder / subfolder if subfolder else folder
    place.mkdir(exist_ok=True)
    (place / name).write_text(text, encoding="utf-8")
    return folder


HEART_ROWS = {
    "cleveland": "63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,0\n",
    "hungarian": "28,1,2,130,132,0,2,185,0,0,?,?,?,0\n40,0,2,0,?,0,0,150,0,0,?,?,?,3\n",
    "switzerland": "32,1,1,95,0,?,0,127,0,.7,1,?,?,1\n",
    "va": "63,1,4,140,260,0,1,112,1,3,2,?,?,2\n",
}


@pytest.fixture
def heart_folder(tmp_path):
    for hospital, rows in HEART_ROWS.items():
        one_file(tmp_path, f"processed.{hospital}.data", rows)
    return tmp_path


class TestPreparedTables:
    """Facts about the real files, where they are."""

    @pytest.mark.parametrize(
        ("name", "rows", "features", "domains", "task"),
        [
            ("uci_heart", 920, 13, 4, "classification"),
            ("impact_tbi", 11022, 8, 15, "classification"),
            ("sachs", 7466, 10, 9, "regression"),
            ("chamber_nonlin", 85000, 9, 11, "classification"),
            ("bike_sharing", 17379, 9, 8, "regression"),
        ],
    )
    def test_sizes(self, shared_data, name, rows, features, domains, task):
        data = real.LOADERS[name](shared_data)
        assert data.name == name
        assert data.X.shape == (rows, features)
        assert len(data.domains) == domains
        assert data.task == task
        assert data.description and data.licence
        assert data.y.notna().all()
        assert data.y.name not in data.X.columns

    def test_heart_has_categories_and_missing_cells(self, shared_data):
        data = real.load_uci_heart(shared_data)
        assert isinstance(data.X["thal"].dtype, pd.CategoricalDtype)
        assert data.X["chol"].isna().sum() == 202
        assert data.X.loc[data.sample_domain == "switzerland", "chol"].isna().all()
        assert set(data.y.unique()) == {0, 1}

    def test_bike_is_complete(self, shared_data):
        data = real.load_bike_sharing(shared_data)
        assert data.y.sum() == 3292679
        assert data.domains[0] == "2011_spring"
        assert not data.X.isna().any(axis=None)

    def test_sachs_has_the_consensus_graph(self, shared_data):
        data = real.load_sachs(shared_data, label="P38", conditions=14)
        assert len(data.domains) == 14
        assert data.y.name == "P38"
        assert set(data.graph) == {*data.X.columns, "P38"}
        edges = pd.read_csv(shared_data / "sachs" / "edges_consensus20.csv")
        assert set(data.graph.edges) == set(edges.itertuples(index=False, name=None))
        assert nx.is_directed_acyclic_graph(data.graph)

    def test_chamber_has_the_physical_graph(self, shared_data):
        data = real.load_chamber_nonlin(shared_data, n_samples=50)
        assert len(data.X) == 11 * 50
        edges = pd.read_csv(shared_data / "chamber_nonlin" / "edges.csv")
        assert set(data.graph.edges) == set(edges.itertuples(index=False, name=None))
        again = real.load_chamber_nonlin(shared_data, n_samples=50)
        pd.testing.assert_frame_equal(data.X, again.X)

    def test_sachs_pooled_ridge_is_as_published(self, shared_data):
        """The label, features and domains are those that the known references used."""
        data = real.load_sachs(shared_data)
        scores = []
        for domain in data.domains:
            split = data.leave_out(domain)
            model = Ridge().fit(split.X, split.y)
            scores.append(r2_score(split.y_target, model.predict(split.X_target)))
        assert np.median(scores) == pytest.approx(0.44, abs=0.01)


class TestOriginalFiles:
    def test_heart(self, heart_folder):
        data = real.load_uci_heart(heart_folder)
        assert data.domains == ["cleveland", "hungarian", "switzerland", "va"]
        assert data.y.tolist() == [0, 0, 1, 1, 1]
        assert data.X["chol"].isna().tolist() == [False, False, True, True, False]
        assert np.isnan(data.X["trestbps"].iloc[2])
        assert data.X["thal"].iloc[0] == 6

    def test_bike(self, tmp_path):
        header = "instant,dteday,season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,"
        header += "atemp,hum,windspeed,casual,registered,cnt\n"
        rows = "1,2011-01-01,1,0,1,0,0,6,0,1,.24,.2879,.81,0,3,13,16\n"
        rows += "2,2012-10-01,4,1,10,1,0,6,0,1,.22,.2727,.8,0,8,32,40\n"
        data = real.load_bike_sharing(one_file(tmp_path, "hour.csv", header + rows))
        assert data.sample_domain.tolist() == ["2011_spring", "2012_winter"]
        assert isinstance(data.X["hr"].dtype, pd.CategoricalDtype)
        numeric = real.load_bike_sharing(tmp_path, categorical=())
        assert numeric.X["hr"].tolist() == [0.0, 1.0]

    def test_impact_csv_of_r(self, tmp_path):
        text = '"","name","type","age","motor_score","pupil","ct","hypox","hypots","tsah","edh",'
        text += '"mort"\n"1","TINT","RCT",53,"5/6","None","I/II",0,1,0,0,1\n'
        text += '"2","UK4","OBS",14,"4","Both","III",0,0,1,0,0\n'
        data = real.load_impact_tbi(one_file(tmp_path, "impact.csv", text, "impact_tbi"))
        assert data.X["pupil"].tolist() == ["Neither", "Both"]
        assert data.X["motor_score"].cat.ordered
        assert data.domains == ["TINT", "UK4"]

    def test_impact_rda(self, tmp_path):
        rdata = pytest.importorskip("rdata", reason="rdata (extra: real) is not installed")
        table = pd.DataFrame(
            {
                **{"name": ["TINT", "UK4"], "type": ["RCT", "OBS"], "age": [53.0, 14.0]},
                **{"motor_score": ["5/6", "4"], "pupil": ["None", "Both"], "ct": ["I/II", "III"]},
                **{c: [0.0, 1.0] for c in ("hypox", "hypots", "tsah", "edh", "mort")},
            }
        )
        text = ["name", "type", "motor_score", "pupil", "ct"]
        table = table.assign(**{c: pd.Categorical(table[c].to_numpy(object)) for c in text})
        rdata.write_rda(tmp_path / "impact.rda", {"impact": table})
        data = real.load_impact_tbi(tmp_path)
        assert data.X["pupil"].tolist() == ["Neither", "Both"]
        assert data.y.tolist() == [0, 1]

    def test_chamber(self, tmp_path):
        header = "E,Y,red,green,blue,ir_1,vis_1,ir_2,vis_2,ir_3,vis_3,led_3_ir,pol_2\n"
        one_file(tmp_path, "d_nonlin_train.csv", header + "0,1,1,2,3,4,5,6,7,8,9,0,0\n")
        one_file(tmp_path, "d_nonlin_test.csv", header + "3,0,1,2,3,4,5,6,7,8,9,0,0\n")
        data = real.load_chamber_nonlin(tmp_path)
        assert data.domains == ["train0", "test3"]
        assert "pol_2" not in data.X

    def test_sachs_sheets(self, tmp_path):
        header = ",".join(PROTEINS)
        for k in range(1, 10):
            # Sheet 8 of the supplement writes two names in lower case.
            names = header.replace("PIP", "pip") if k == 8 else header
            row = ",".join(str(float(k + j)) for j in range(len(PROTEINS)))
            one_file(tmp_path, f"{k}. condition{k}.csv", f"{names}\n{row}\n")
        data = real.load_sachs(tmp_path, log=False)
        assert data.domains == [f"condition{k}" for k in range(1, 10)]
        assert data.X["PIP2"].tolist() == [k + 3.0 for k in range(1, 10)]
        with pytest.raises(FileNotFoundError, match=r"condition 10 .* Science 308"):
            real.load_sachs(tmp_path, conditions=14)

    def test_excel_without_a_reader(self, tmp_path, monkeypatch):
        for k in range(1, 10):
            one_file(tmp_path, f"{k}. condition{k}.xls", "not read")

        def no_reader(path):
            raise ImportError("Missing optional dependency 'xlrd'")

        monkeypatch.setattr(pd, "read_excel", no_reader)
        with pytest.raises(ValueError, match=r"1\. condition1\.xls.*xlrd.*save the sheet as CSV"):
            real.load_sachs(tmp_path)


class TestErrors:
    @pytest.mark.parametrize("name", list(real.LOADERS))
    def test_absent_files_say_where_to_get_them(self, name, tmp_path, monkeypatch):
        monkeypatch.delenv("DAPDAG_DATA", raising=False)
        with pytest.raises(FileNotFoundError, match=f"{name}.*DAPDAG_DATA is not set.*Get them"):
            real.LOADERS[name]()
        monkeypatch.setenv("DAPDAG_DATA", str(tmp_path))
        with pytest.raises(FileNotFoundError, match=f"{name}.csv nor the original.*Get them from"):
            real.LOADERS[name]()
        with pytest.raises(FileNotFoundError, match="nowhere is not a folder"):
            real.LOADERS[name](tmp_path / "nowhere")

    def test_environment_variable_names_the_folder(self, heart_folder, monkeypatch):
        monkeypatch.setenv("DAPDAG_DATA", str(heart_folder))
        assert len(real.load_uci_heart().X) == 5

    def test_missing_column(self, tmp_path):
        one_file(tmp_path, "bike_sharing.csv", "season;yr;cnt\n1;0;3\n", "bike_sharing")
        with pytest.raises(ValueError, match=r"bike_sharing\.csv lacks.*'season'.*comma-separated"):
            real.load_bike_sharing(tmp_path)

    def test_empty_file(self, tmp_path):
        one_file(tmp_path, "bike_sharing.csv", "")
        with pytest.raises(ValueError, match="cannot be read as a table"):
            real.load_bike_sharing(tmp_path)

    def test_text_in_a_numeric_column(self, heart_folder):
        text = HEART_ROWS["va"].replace("63", "old")
        one_file(heart_folder, "processed.va.data", text)
        with pytest.raises(ValueError, match="column 'age': 'old' is not a number"):
            real.load_uci_heart(heart_folder)

    def test_unknown_category(self, heart_folder):
        one_file(heart_folder, "processed.va.data", HEART_ROWS["va"].replace("63,1,4", "63,1,9"))
        with pytest.raises(ValueError, match=r"column 'cp': 9.0 is none of \[1, 2, 3, 4\]"):
            real.load_uci_heart(heart_folder)

    def test_missing_label(self, heart_folder):
        one_file(heart_folder, "processed.va.data", HEART_ROWS["va"].replace(",2\n", ",?\n"))
        with pytest.raises(ValueError, match="label 'target': nan is neither 0 nor 1"):
            real.load_uci_heart(heart_folder)

    def test_wrong_options(self, tmp_path):
        with pytest.raises(ValueError, match="label must be one of"):
            real.load_sachs(tmp_path, label="Akt")
        with pytest.raises(ValueError, match=r"conditions must be one of \[9, 14\], got 10"):
            real.load_sachs(tmp_path, conditions=10)
        with pytest.raises(ValueError, match="categorical must be one of"):
            real.load_bike_sharing(tmp_path, categorical=["temp"])

    def test_logarithm_of_a_negative_intensity(self, tmp_path):
        header = ",".join(("domain", "condition_no", *PROTEINS))
        row = ",".join(["a", "1", *("-1" for _ in PROTEINS)])
        one_file(tmp_path, "sachs.csv", f"{header}\n{row}\n", "sachs")
        with pytest.raises(ValueError, match=r"column 'praf': -1.0 has no logarithm.*log=False"):
            real.load_sachs(tmp_path)
