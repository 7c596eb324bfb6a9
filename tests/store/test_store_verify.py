"""Every kind of damage to a result is detected, and the message names the file."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from store_fakes import RAW, STUDY, content_of, make_plan, make_record, throughput_samples

from airtoll.durable import files_in, sums
from airtoll.errors import UsageError
from airtoll.store import COLUMNS, SCHEMA_VERSION, Result, verify

PLAN = make_plan(2)
RUN = f"runs/{PLAN.runs[0].id}"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A valid, writable result of two runs."""
    with Result.create(tmp_path / "r", STUDY, PLAN, "fake", quick=False) as result:
        for run in PLAN.runs:
            result.write(make_record(run), throughput_samples(), RAW)
    for path in (tmp_path / "r").rglob("*"):
        if path.is_file():
            path.chmod(0o644)
    assert verify(tmp_path / "r") == []
    return tmp_path / "r"


def seal(run_directory: Path) -> None:
    """Recompute all checksums, so that other checks must detect the damage."""
    sums_file = run_directory / "SHA256SUMS"
    sums_file.write_text(sums(run_directory, files_in(run_directory) - {"SHA256SUMS"}))
    result = run_directory.parents[1]
    listed = [f"runs/{run.name}/SHA256SUMS" for run in run_directory.parent.iterdir()]
    (result / "SHA256SUMS").write_text(sums(result, ["plan.json", "study.toml", *listed]))


def test_every_flipped_byte_of_every_file_is_found(directory: Path) -> None:
    names = list(content_of(directory))
    assert len(names) == 3 + 2 * 5
    for name in names:
        path = directory / name
        content = path.read_bytes()
        # Every byte of checksum files, to test their format; every 37th byte of the second run's and of other files.
        is_sums = path.name == "SHA256SUMS"
        for place in range(0, len(content), 1 if is_sums and PLAN.runs[1].id not in name else 37):
            damaged = bytearray(content)
            damaged[place] ^= (0x01, 0x20, 0xFF)[place % 3]
            path.write_bytes(damaged)
            problems = verify(directory)
            assert problems, f"{name}: damage to byte {place} is not detected"
            scope = f"{path.parent.relative_to(directory)}/".removeprefix("./") if is_sums else name
            assert any(line.startswith(scope) for line in problems)
        path.write_bytes(content)
    assert verify(directory) == []


def test_every_deleted_file_is_found(directory: Path) -> None:
    for name, content in content_of(directory).items():
        (directory / name).unlink()
        if name == "plan.json":
            assert "plan.json: missing" in verify(directory)
        else:
            assert verify(directory) == [f"{name}: missing"]
        (directory / name).write_bytes(content)
    assert verify(directory) == []


def test_a_truncated_file_is_found(directory: Path) -> None:
    for name, content in content_of(directory).items():
        (directory / name).write_bytes(content[:-1])
        assert any(line.startswith(f"{name}: ") for line in verify(directory)), name
        (directory / name).write_bytes(content)


def test_every_added_file_is_found_except_reports(directory: Path) -> None:
    for name in (f"{RUN}/more", f"{RUN}/raw/more", f"{RUN}/raw/iperf3/.hidden"):
        (directory / name).touch()
        assert verify(directory) == [f"{name}: unexpected file"]
        (directory / name).unlink()
    (directory / "runs" / "note").touch()
    assert verify(directory) == ["runs/note: not a run's directory"]
    (directory / "runs" / "note").unlink()
    for name in ("report.html", ".lock", "runs/.tmp-0001.0123"):
        (directory / name).touch()
    assert verify(directory) == []


def test_verify_finds_irregular_files(directory: Path) -> None:
    name = f"{RUN}/raw/iperf3/server.json"
    shutil.copy(directory / name, directory / "elsewhere")
    (directory / name).unlink()
    (directory / name).symlink_to(directory / "elsewhere")
    assert verify(directory) == [f"{name}: not a regular file"]
    (directory / name).unlink()
    os.mkfifo(directory / name)
    assert verify(directory) == [f"{name}: not a regular file"]
    (directory / name).unlink()
    shutil.copy(directory / "elsewhere", directory / name)
    (directory / RUN / "raw" / "link").symlink_to("/etc")
    assert verify(directory) == [f"{RUN}/raw/link: unexpected file"]


def test_a_run_that_is_not_in_the_plan_is_found(directory: Path) -> None:
    for name in ("0009-udp-ipv4-128-open", f"{PLAN.runs[0].id}-attempt2"):  # the study repeats no run
        shutil.copytree(directory / RUN, directory / "runs" / name)
        assert verify(directory) == [f"runs/{name}: run not in the plan"]
        assert len(Result.open(directory).records()) == 2
        shutil.rmtree(directory / "runs" / name)


def test_a_run_in_the_directory_of_another_is_found(directory: Path) -> None:
    second = directory / "runs" / PLAN.runs[1].id
    shutil.rmtree(second)
    shutil.copytree(directory / RUN, second)
    seal(second)
    assert verify(directory) == [
        f"runs/{second.name}/run.json: belongs to run {PLAN.runs[0].id}",
        f"runs/{second.name}/samples.parquet: has rows of another run",
    ]


def test_a_deleted_run_is_found_and_performed_again(directory: Path) -> None:
    shutil.rmtree(directory / RUN)
    assert verify(directory) == [f"{RUN}: missing; the run was finished"]
    with Result.resume(directory, STUDY, PLAN) as result:
        assert [run.id for run in result.pending()] == [PLAN.runs[0].id]
        assert verify(directory) == []
        result.write(make_record(PLAN.runs[0]), throughput_samples(), RAW)
    assert verify(directory) == []


def test_a_value_edited_together_with_the_checksums_of_its_run_is_found(directory: Path) -> None:
    listed = (directory / "SHA256SUMS").read_text()
    path = directory / RUN / "samples.parquet"
    pl.read_parquet(path).with_columns(value=pl.col("value") * 2).write_parquet(path)
    assert verify(directory) == [f"{RUN}/samples.parquet: does not match its checksum"]
    seal(directory / RUN)
    (directory / "SHA256SUMS").write_text(listed)
    assert verify(directory) == [f"{RUN}/SHA256SUMS: does not match its checksum"]


def test_checksums_of_runs_alone_do_not_hide_the_study_and_the_plan(directory: Path) -> None:
    path = directory / "SHA256SUMS"
    kept = [line for line in path.read_text().splitlines(keepends=True) if "  runs/" in line]
    path.write_text("".join(kept))
    assert verify(directory) == [f"{name}: not listed in SHA256SUMS" for name in ("plan.json", "study.toml")]


def test_runs_gone_altogether_is_a_problem(directory: Path) -> None:
    shutil.rmtree(directory / "runs")
    assert verify(directory) == ["runs: cannot be read: No such file or directory"]


def edit(changes: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: {**document, **changes}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (edit({"schema_version": SCHEMA_VERSION + 1, "new": 1}), "written by a newer airtoll"),
        (edit({"schema_version": 0}), "schema_version: "),
        (edit({"surprise": 1}), "surprise: unknown key"),
        (edit({"started": "yesterday"}), "started: "),
        (edit({"started": "2025-03-01T12:00:00"}), "started: "),
        (edit({"verdict": {"valid": True, "reasons": ["no sample: x"]}}), "verdict: "),
        (
            edit({"run": PLAN.runs[0].model_copy(update={"seed": 1}).model_dump()}),
            "its run differs from the plan",
        ),
        (
            lambda document: {key: value for key, value in document.items() if key != "hosts"},
            "hosts: is missing",
        ),
        (lambda _: [], "expected an object"),
    ],
)
def test_a_run_json_that_means_something_else_is_found(
    directory: Path, change: Callable[[dict[str, Any]], Any], problem: str
) -> None:
    path = directory / RUN / "run.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    seal(directory / RUN)
    (line,) = verify(directory)
    assert line.startswith(f"{RUN}/run.json: {problem}")
    assert "\n" not in line


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (pl.col("value").cast(pl.Float32), "has the columns run String"),
        (pl.col("t_ns").cast(pl.Int32), "has the columns run String"),
        (pl.col("value").alias("speed"), "has the columns run String"),
        (pl.lit(float("nan")).alias("value"), "column value has a NaN"),
        (pl.lit(None, pl.Int64).alias("t_ns"), "column t_ns has a row without a value"),
        (pl.lit("other").alias("run"), "has rows of another run"),
        (pl.lit("cool-down").alias("phase"), "column phase has a value other than warmup, measure"),
    ],
)
def test_samples_of_another_form_are_found(directory: Path, change: pl.Expr, problem: str) -> None:
    path = directory / RUN / "samples.parquet"
    frame = pl.read_parquet(path)
    assert {name: str(dtype) for name, dtype in frame.schema.items()} == COLUMNS
    frame.with_columns(change).write_parquet(path)
    seal(directory / RUN)
    (line,) = verify(directory)
    assert line.startswith(f"{RUN}/samples.parquet: {problem}")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(64) + b"PAR1", b"not parquet at all"])
def test_samples_that_are_no_parquet_are_found(directory: Path, content: bytes) -> None:
    (directory / RUN / "samples.parquet").write_bytes(content)
    seal(directory / RUN)
    (line,) = verify(directory)
    assert line.startswith(f"{RUN}/samples.parquet: cannot be read: ")
    assert "\n" not in line


def test_a_plan_from_a_newer_airtoll_is_refused_as_a_whole(directory: Path) -> None:
    document = json.loads((directory / "plan.json").read_text())
    (directory / "plan.json").write_text(json.dumps({**document, "schema_version": SCHEMA_VERSION + 1}))
    (directory / "SHA256SUMS").write_text(sums(directory, ["plan.json", "study.toml"]))
    with pytest.raises(UsageError, match=r"plan\.json: written by a newer airtoll"):
        verify(directory)


def test_verify_refuses_a_directory_without_a_result(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a result directory"):
        verify(tmp_path)
