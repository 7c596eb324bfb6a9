"""`--resume` does not mix versions or machines without an explicit option."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli_command import SMALL_STUDY, Airtoll, one_line

from airtoll import _rust
from airtoll.labs.namespace import machine_facts
from airtoll.store.origin import Origin
from airtoll.sweep.grid import load_grid
from airtoll.sweep.journal import Journal
from airtoll.sweep.workers import Done


def rewrite(path: Path, **keys: Any) -> None:
    document = json.loads(path.read_text())
    path.chmod(0o644)
    path.write_text(json.dumps({**document, **keys}))


@pytest.fixture
def interrupted(airtoll: Airtoll, tmp_path: Path) -> Path:
    """A result in lab sim without its last two runs."""
    (tmp_path / "small.toml").write_text(SMALL_STUDY)
    done = airtoll("run", "small.toml", "--lab", "sim", "--out", "result")
    assert done.returncode == 0, done.stderr
    for run in sorted((tmp_path / "result/runs").iterdir())[2:]:
        for file in sorted(run.rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        run.rmdir()
    return tmp_path / "result"


OTHER = "0.1.0+gffffffffffff"
RESUME = ("run", "small.toml", "--lab", "sim", "--out", "result", "--resume")


@pytest.mark.parametrize(
    "keys",
    [
        {"airtoll": OTHER},
        {"machine": {**machine_facts(), "processor": "Another CPU"}},
        {"machine": {**machine_facts(), "kernel": "3.2.1"}},
    ],
    ids=["commit", "processor", "kernel"],
)
def test_a_result_of_another_origin_is_refused_in_one_line_that_names_both(
    airtoll: Airtoll, interrupted: Path, keys: dict[str, Any]
) -> None:
    rewrite(interrupted / "plan.json", **keys)
    done = airtoll(*RESUME)
    assert done.returncode == 2
    facts = machine_facts()
    here = f"airtoll {_rust.VERSION} on {facts['processor']}, kernel {facts['kernel']}"
    there = {"airtoll": _rust.VERSION, "machine": facts, **keys}
    began = (
        f"airtoll {there['airtoll']} on {there['machine']['processor']}, kernel {there['machine']['kernel']}"
    )
    assert f"{began} created it, {here} would continue it" in one_line(done)
    assert len(list((interrupted / "runs").iterdir())) == 2


def test_a_mixed_result_keeps_the_origin_of_every_run(airtoll: Airtoll, interrupted: Path) -> None:
    first, second = sorted((interrupted / "runs").iterdir())
    rewrite(interrupted / "plan.json", airtoll=OTHER)
    for run in (first, second):
        document = json.loads((run / "run.json").read_text())
        machine = document["hosts"]["machine"]
        assert machine["kernel"] == machine_facts()["kernel"]
        versions = {**document["versions"], "airtoll": OTHER}
        rewrite(
            run / "run.json", versions=versions, hosts={"machine": {**machine, "processor": "Another CPU"}}
        )
    done = airtoll(*RESUME, "--allow-mixed")
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in sorted(interrupted.glob("runs/*/run.json"))]
    assert [record["versions"]["airtoll"] for record in records] == [
        OTHER,
        OTHER,
        _rust.VERSION,
        _rust.VERSION,
    ]
    here = machine_facts()["processor"]
    assert [record["hosts"]["machine"]["processor"] for record in records] == ["Another CPU"] * 2 + [here] * 2


def test_a_sweep_of_another_origin_is_refused_unless_allowed(airtoll: Airtoll, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text('seed = "1..3"\nduration = "0.1 s"\n')
    done = airtoll("sweep", "grid.toml", "--out", "whole.parquet", "--json")
    assert done.returncode == 0, done.stderr
    whole = pl.read_parquet(tmp_path / "whole.parquet")
    assert whole["airtoll"].to_list() == [_rust.VERSION] * 3
    assert whole["machine_kernel"].to_list() == [machine_facts()["kernel"]] * 3

    journal = _begun(tmp_path)
    done = airtoll("sweep", "grid.toml", "--out", "t.parquet", "--resume")
    assert done.returncode == 2
    words = one_line(done)
    assert f"airtoll {OTHER} on Another CPU, kernel 3.2.1 created it" in words
    assert f"airtoll {_rust.VERSION} on {machine_facts()['processor']}" in words
    assert journal.exists()
    done = airtoll("sweep", "grid.toml", "--out", "t.parquet", "--resume", "--allow-mixed")
    assert done.returncode == 0, done.stderr
    mixed = pl.read_parquet(tmp_path / "t.parquet")
    assert mixed["airtoll"].to_list() == [OTHER, _rust.VERSION, _rust.VERSION]
    assert mixed["machine_processor"].to_list()[0] == "Another CPU"
    assert mixed["throughput_mbps"].to_list()[1:] == whole["throughput_mbps"].to_list()[1:]


def _begun(folder: Path) -> Path:
    """The journal of the sweep to t.parquet from another machine, with the first cell."""
    grid = load_grid(folder / "grid.toml", _rust.check_scenario)
    path = folder / "t.parquet.journal"
    origin = Origin(OTHER, "Another CPU", "3.2.1")
    with Journal(path, {"grid": grid.digest, "cells": len(grid.cells)}, origin, resume=False) as journal:
        journal.append(Done(0, _rust.simulate(grid.cells[0]), origin))
    return path


@pytest.mark.parametrize("command", [("run", "small.toml"), ("sweep", "grid.toml")])
def test_the_option_is_for_resuming_alone(airtoll: Airtoll, tmp_path: Path, command: tuple[str, str]) -> None:
    (tmp_path / "small.toml").write_text(SMALL_STUDY)
    (tmp_path / "grid.toml").write_text("seed = 1\n")
    done = airtoll(*command, "--allow-mixed")
    assert done.returncode == 2
    assert one_line(done) == "--allow-mixed requires --resume"
