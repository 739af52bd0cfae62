"""Predictions of files in batches: as in memory, and on from where they stopped."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cli_helpers import assert_one_line, dapdag

from dapdag import load
from dapdag.io import batches as reading_batches
from dapdag.io import streaming, unfinished


@pytest.fixture(scope="module")
def table(study):
    """Rows of two sites in turn, with an ID, a missing cell, and a column nobody knows."""
    frame = pd.read_csv(study / "new.csv")
    frame = frame.sample(frac=1.0, random_state=0).reset_index(drop=True)
    frame.insert(0, "patient", [f"{k:03d}" for k in range(len(frame))])
    frame.loc[[3, 50], "X1"] = np.nan
    return frame.assign(remark="a, b")


def run(*arguments):
    done = dapdag("predict", *arguments)
    assert done.code == 0, done.err
    return done


def numbers(frame):
    return frame[["prediction", "low", "high"]]


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_batches_give_what_memory_gives(study, table, tmp_path, suffix):
    source = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        table.to_parquet(source, row_group_size=7)  # smaller than a batch
    else:
        table.to_csv(source, index=False)
    options = (study / "model.dapdag", source, "--id", "patient")
    run(*options, "-o", tmp_path / "memory.csv", "-q")
    done = run(*options, "-o", tmp_path / "batches.csv", "--batch", "17")
    assert "Wrote" in done.out and "80 rows" in done.out
    assert "'hospital' names the sites" in done.err and "not used:" in done.err
    whole, parts = (
        pd.read_csv(tmp_path / f"{k}.csv", dtype={"patient": str}) for k in ("memory", "batches")
    )
    assert list(parts) == list(whole) and list(parts["patient"]) == list(table["patient"])
    pd.testing.assert_frame_equal(parts, whole, rtol=1e-4, atol=1e-4)
    assert not (tmp_path / "batches.csv.partial").exists()


def test_one_file_per_site_and_a_site_that_is_known(study, tmp_path):
    both = [study / "yesterday.csv", study / "today.csv"]
    run(study / "model.dapdag", *both, "-o", tmp_path / "a.parquet", "--batch", "7", "-q")
    run(study / "model.dapdag", *both, "-o", tmp_path / "b.parquet", "-q")
    one, other = (pd.read_parquet(tmp_path / f"{k}.parquet") for k in "ab")
    assert list(one["site"]) == list(other["site"])
    np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-4, atol=1e-4)
    known = (study / "n.dapdag", study / "north.csv")
    out = run(*known, "-o", tmp_path / "c.tsv", "--batch", "7", "--json").out
    assert json.loads(out)["rows"] == 40
    run(*known, "-o", tmp_path / "d.tsv", "-q")
    one, other = (pd.read_csv(tmp_path / f"{k}.tsv", sep="\t") for k in "cd")
    np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("stage", ["summaries", "rows"])
def test_an_interrupted_run_goes_on_and_ends_the_same_to_the_byte(
    study, table, tmp_path, monkeypatch, stage, suffix
):
    table.to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.setattr(streaming, "SAVED_EVERY", 2)
    name = "gather_sites" if stage == "summaries" else "_predict"
    original, calls = getattr(streaming, name), []

    def counted(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(*arguments)

    asked = (study / "model.dapdag", tmp_path / "rows.csv", "--batch", "17")
    run(*asked, "-o", tmp_path / f"whole.{suffix}")
    output = tmp_path / f"parts.{suffix}"
    monkeypatch.setattr(streaming, name, counted)
    done = dapdag("predict", *asked, "-o", output)
    assert done.code == 130 and "goes on from there" in done.err
    assert not output.exists() and (tmp_path / f"parts.{suffix}.partial").is_dir()
    before = len(calls)
    run(*asked, "-o", output)
    # five batches: two were saved before the fourth one of the first pass, three of the second
    assert len(calls) - before == (3 if stage == "summaries" else 2)
    assert output.read_bytes() == (tmp_path / f"whole.{suffix}").read_bytes()


def test_the_beginning_of_another_run_is_not_used(study, table, tmp_path, monkeypatch):
    table.to_csv(tmp_path / "rows.csv", index=False)
    asked = (study / "model.dapdag", tmp_path / "rows.csv", "--batch", "40")
    output = tmp_path / "out.csv"
    with monkeypatch.context() as patch:
        patch.setattr(streaming, "_join", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        assert dapdag("predict", *asked, "-o", output).code == 2
    table[:60].to_csv(tmp_path / "rows.csv", index=False)
    done = run(*asked, "-o", output)
    assert "begins anew" in done.err and len(pd.read_csv(output)) == 60
    (tmp_path / "mine.csv.partial").mkdir()
    (tmp_path / "mine.csv.partial" / "thesis.txt").write_text("x")
    done = dapdag("predict", *asked, "-o", tmp_path / "mine.csv", "-q")
    assert_one_line(done, "mine.csv.partial is in the way")
    assert (tmp_path / "mine.csv.partial" / "thesis.txt").exists()


def test_a_table_that_changes_while_it_is_read_is_refused(study, table, tmp_path, monkeypatch):
    """Between the passes; what was read before would not belong to what comes after."""
    source, original = tmp_path / "rows.csv", streaming._know_sites
    asked = ("-o", tmp_path / "out.csv", "--batch", "40", "-q")
    later = {"more rows": {}, "another site": {"hospital": "h9"}}
    for change in later.values():
        table.to_csv(source, index=False)

        def changed(*arguments, change=change):
            found = original(*arguments)
            table.assign(X1=0.5, **change).to_csv(source, index=False)
            return found

        monkeypatch.setattr(streaming, "_know_sites", changed)
        done = dapdag("predict", study / "model.dapdag", source, *asked)
        assert_one_line(done, "changed", "run it again")
        assert not (tmp_path / "out.csv").exists()


def test_a_full_disk_leaves_what_is_done(study, table, tmp_path, monkeypatch):
    table.to_csv(tmp_path / "rows.csv", index=False)
    output, original = tmp_path / "out.csv", streaming._write_part
    asked = (study / "model.dapdag", tmp_path / "rows.csv", "-o", output, "--batch", "17", "-q")
    with monkeypatch.context() as patch:

        def full(table, path, *about):
            if path.name.startswith("00000002"):
                raise OSError(28, "No space left on device", str(path))
            original(table, path, *about)

        patch.setattr(streaming, "_write_part", full)
        done = dapdag("predict", *asked)
        assert done.code == 2 and "No space left" in done.err and "goes on from" in done.err
        assert "Traceback" not in done.err and not output.exists()
    run(*asked)
    run(*asked[:3], tmp_path / "whole.csv", *asked[4:])
    assert output.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_what_is_wrong_far_down_is_named_with_its_row(study, table, tmp_path):
    table.astype({"X2": object}).assign(X2=[*table["X2"][:70], "much", *table["X2"][71:]]).to_csv(
        tmp_path / "text.csv", index=False
    )
    lines = table.to_csv(index=False).splitlines()
    (tmp_path / "ragged.csv").write_text("\n".join([*lines[:60], "1,2", *lines[60:]]))
    asked = ("-o", tmp_path / "out.csv", "--batch", "17", "-q")
    for name, words in {
        "text.csv": ("'X2' holds numbers, but 'much'", "row 71"),
        "ragged.csv": ("line 61 has 2 cells",),
    }.items():
        assert_one_line(dapdag("predict", study / "model.dapdag", tmp_path / name, *asked), *words)
        assert not (tmp_path / "out.csv.partial").exists()
    model = study / "model.dapdag"
    assert_one_line(dapdag("predict", model, study / "new.csv", "--batch", "5", "-q"), "give -o")
    done = dapdag("predict", model, study / "new.csv", "-o", tmp_path / "x.csv", "--batch", "0")
    assert done.code == 2 and "1 or more" in done.err


def test_large_tables_are_read_in_batches_unasked(study, tmp_path, monkeypatch):
    monkeypatch.setattr(reading_batches, "IN_MEMORY_BYTES", 100)
    done = run(study / "model.dapdag", study / "new.csv", "-o", tmp_path / "out.csv")
    assert "in batches of 131,072 rows" in done.err
    assert len(pd.read_csv(tmp_path / "out.csv")) == 80


def test_sites_are_kept_and_found_again(tmp_path, study):
    import dapdag as package
    from dapdag._sklearn.partial import gather_sites

    model = package.load(study / "model.dapdag")
    rows = pd.read_csv(study / "new.csv")
    found = gather_sites(model, rows.drop(columns="hospital"), rows["hospital"].to_numpy())
    work = unfinished.Unfinished(tmp_path)
    work.save_sites(found, 3)
    again, n = work.load_sites()
    assert n == 3 and list(again.evidence) == ["h3", "h4"]
    for label, one in found.evidence.items():
        other = again.evidence[label]
        assert one.n_rows == other.n_rows
        np.testing.assert_array_equal(one.kept.data.values, other.kept.data.values)
        np.testing.assert_array_equal(one.summary.weighted, other.summary.weighted)


def test_a_parquet_file_is_not_held_in_memory(study, tmp_path):
    rows, groups, source = 50_000, 20, tmp_path / "rows.parquet"
    names = pd.read_csv(study / "north.csv").columns
    noise = np.random.default_rng(0).normal(size=(rows * groups, len(names)))
    pd.DataFrame(noise, columns=names).to_parquet(source, row_group_size=rows)
    before, held = pa.total_allocated_bytes(), []
    for _ in reading_batches.Batches(load(study / "model.dapdag"), [source], rows=rows):
        held.append(pa.total_allocated_bytes() - before)
    assert len(held) == groups
    assert max(held) < source.stat().st_size / 2
