"""The doctor: what it looks at, and what it calls broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_helpers import assert_fits_a_terminal, dapdag

from dapdag import doctor
from dapdag.doctor import BROKEN, NOTE, OK, Check


def test_all_is_well_here() -> None:
    steps: list[str] = []
    checks = {check.name: check for check in doctor.examine(steps.append)}
    broken = [check for check in checks.values() if check.status == BROKEN]
    assert not broken
    assert {"Python", "jax", "devices", "cache", "data", "self-test"} <= checks.keys()
    assert "saved and loaded" in checks["self-test"].detail and len(steps) == 2


def test_whatever_goes_wrong_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> Check:
        raise RuntimeError("no device\nfound")

    monkeypatch.setattr(doctor, "_devices", fails)
    monkeypatch.setattr(doctor, "_self_test", lambda: Check("self-test", OK, ""))
    checks = {check.name: check for check in doctor.examine()}
    assert checks["Starting JAX"] == Check("Starting JAX", BROKEN, "RuntimeError: no device found")


def test_absent_package_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor._package("jax").status == OK
    assert doctor._package("no-such-package-at-all").status == BROKEN


def test_folder_of_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sachs").mkdir()
    monkeypatch.setenv("DAPDAG_DATA", str(tmp_path))
    assert doctor._data() == Check("data", OK, f"{tmp_path}: sachs")
    monkeypatch.setenv("DAPDAG_DATA", str(tmp_path / "none"))
    assert doctor._data().status == BROKEN
    monkeypatch.delenv("DAPDAG_DATA")
    assert doctor._data().status == OK


def test_cache_that_is_off_or_unusable_is_noted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DAPDAG_CACHE_DIR", str(tmp_path / "cache"))
    assert doctor._cache().status == OK and "0 MB in 0 files" in doctor._cache().detail
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DAPDAG_CACHE_DIR", str(tmp_path / "file"))
    assert doctor._cache().status == NOTE
    monkeypatch.setenv("DAPDAG_CACHE", "off")
    assert "switched off" in doctor._cache().detail


@pytest.mark.parametrize("status, code", [(OK, 0), (NOTE, 0), (BROKEN, 1)])
def test_exit_code_says_whether_something_is_broken(
    monkeypatch: pytest.MonkeyPatch, status: str, code: int
) -> None:
    findings = [Check("jax", status, "a" * 100), Check("Python", OK, "3")]
    monkeypatch.setattr(doctor, "examine", lambda on_step: findings)
    shown = dapdag("doctor")
    assert shown.code == code and "jax" in shown.out and "Python" in shown.out
    assert_fits_a_terminal(shown.out)
    assert "Python" not in dapdag("doctor", "-q").out
    found = dapdag("doctor", "--json")
    assert found.code == code and json.loads(found.out)["ok"] is (code == 0)
