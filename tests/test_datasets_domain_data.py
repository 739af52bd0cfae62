"""DomainData: what travels together, taken apart by domain, with errors that say what is wrong."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from dapdag.datasets import DomainData, make_classification_domains, make_regression_domains


@pytest.fixture
def unknown() -> DomainData:
    return DomainData(
        X=pd.DataFrame({"age": [50.0, 60.0, 70.0]}),
        y=pd.Series([0, 1, 1], name="died"),
        sample_domain=np.array(["B", "A", "B"]),
        task="classification",
        name="clinic",
    )


def test_leave_out_separates_target_from_sources():
    data = make_regression_domains(n_domains=3, n_samples=[4, 5, 6])
    split = data.leave_out(1)
    assert set(split.sample_domain) == {0, 2}
    assert len(split.X) == len(split.y) == 10
    pd.testing.assert_frame_equal(split.X_target, data.X.iloc[4:9])
    pd.testing.assert_series_equal(split.y_target, data.y.iloc[4:9])


def test_domains_are_in_order_of_appearance(unknown):
    assert unknown.domains == ["B", "A"]


def test_leaving_out_an_unknown_domain_names_it_and_the_known_ones(unknown):
    with pytest.raises(ValueError, match=r"'C'.*\['B', 'A'\]"):
        unknown.leave_out("C")


def test_data_without_a_known_process_have_no_oracle(unknown):
    with pytest.raises(ValueError, match="clinic has no oracle"):
        unknown.oracle(unknown.X, 0.0)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="got 2, 1 and 2"):
        DomainData(
            X=pd.DataFrame({"a": [1, 2]}),
            y=pd.Series([1]),
            sample_domain=np.array([0, 0]),
            task="regression",
            name="short",
        )


def test_oracle_takes_one_env_or_one_per_row_and_columns_in_any_order():
    data = make_regression_domains(n_domains=1, n_samples=20)
    one = data.oracle(data.X, 0.7)
    np.testing.assert_array_equal(one, data.oracle(data.X[data.X.columns[::-1]], np.full(20, 0.7)))


def test_oracle_errors_name_the_cause():
    data = make_regression_domains(n_domains=1, n_samples=20)
    with pytest.raises(ValueError, match=r"lacks the column\(s\) \['X3'\]"):
        data.oracle(data.X.drop(columns="X3"), 0.0)
    with pytest.raises(ValueError, match=r"one per row \(20\), got shape \(3,\)"):
        data.oracle(data.X, [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"complete rows; column\(s\) \['X2'\]"):
        data.oracle(data.X.assign(X2=np.nan), 0.0)
    classes = make_classification_domains(n_domains=1, n_samples=20)
    with pytest.raises(ValueError, match="oracle_std is for regression"):
        classes.oracle_std(classes.X, 0.0)


def test_repr_fits_a_line_and_says_what_is_known(unknown):
    assert repr(unknown).count("\n") == 0
    assert "known: nothing" in repr(unknown)
    assert "known: env, graph, oracle" in repr(make_regression_domains(n_domains=1, n_samples=5))


@pytest.mark.parametrize("make", [make_regression_domains, make_classification_domains])
def test_survives_pickling(make):
    data = make(n_domains=2, n_samples=10)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.oracle(data.X, 0.5), data.oracle(data.X, 0.5))


def test_importing_datasets_does_not_import_jax():
    code = "import sys, dapdag.datasets; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
