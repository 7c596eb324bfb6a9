"""`airtoll sweep`: the same table despite interruptions, failures and different workers."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest
from cli_command import AIRTOLL, Airtoll, one_line

CELLS = 96
GRID = f"""
title = "For a test"
security = ["open", "ccmp"]
rate = [6]
duration = "30 s"
seed = "1..{CELLS // 2}"
"""


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    path.write_text(GRID)
    return path


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of an undisturbed sweep of the grid."""
    directory = tmp_path_factory.mktemp("sweep")
    (directory / "grid.toml").write_text(GRID)
    command = [AIRTOLL, "sweep", "grid.toml", "--out", "whole.parquet"]
    subprocess.run(command, cwd=directory, check=True, capture_output=True, timeout=300)
    return (directory / "whole.parquet").read_bytes()


def start(grid: Path, *more: str) -> subprocess.Popen[str]:
    command = [AIRTOLL, "sweep", str(grid), "--out", "t.parquet", *more]
    return subprocess.Popen(
        command, cwd=grid.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def kept(grid: Path) -> int:
    journal = grid.with_name("t.parquet.journal")
    return max(0, journal.read_bytes().count(b"\n") - 1) if journal.exists() else 0


def wait_for_cells(grid: Path, process: subprocess.Popen[str], count: int) -> None:
    deadline = time.monotonic() + 120
    while kept(grid) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_the_table_has_every_cell_in_the_order_of_the_grid(expected: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(expected)
    table = pl.read_parquet(path)
    assert table["cell"].to_list() == list(range(CELLS))
    assert table["seed"].to_list() == [*range(1, CELLS // 2 + 1)] * 2
    assert table["security"].to_list() == ["open"] * (CELLS // 2) + ["ccmp"] * (CELLS // 2)
    assert table["throughput_mbps"].min() > 0
    assert table["duration_s"].unique().to_list() == [30.0]


def test_neither_the_number_of_workers_nor_the_form_changes_it(
    airtoll: Airtoll, grid: Path, expected: bytes
) -> None:
    done = airtoll("sweep", grid, "--out", "t.parquet", "--workers", 1, "--csv", "--json")
    assert done.returncode == 0, done.stderr
    assert grid.with_name("t.parquet").read_bytes() == expected
    assert done.stdout.split() == ["t.parquet", "t.csv", "t.json"]
    assert len(json.loads(grid.with_name("t.json").read_text())) == CELLS
    assert not grid.with_name("t.parquet.journal").exists()


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_an_interrupted_sweep_keeps_finished_cells_and_resumes(
    airtoll: Airtoll, grid: Path, expected: bytes, how: signal.Signals, status: int
) -> None:
    with start(grid) as process:
        wait_for_cells(grid, process, 20)
        process.send_signal(how)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == status
    assert not grid.with_name("t.parquet").exists()
    before = kept(grid)
    assert 20 <= before < CELLS
    if how == signal.SIGINT:
        assert f"airtoll: interrupted; {before} of {CELLS} cells are kept" in stderr
        assert stderr.rstrip().endswith("repeat the command with --out t.parquet --resume to continue")
    again = airtoll("sweep", grid, "--out", "t.parquet")
    assert again.returncode == 2
    assert "use --resume to continue it" in one_line(
        subprocess.CompletedProcess([], 2, "", again.stderr.splitlines()[-1] + "\n")
    )
    done = airtoll("sweep", grid, "--out", "t.parquet", "--resume")
    assert done.returncode == 0, done.stderr
    assert f"{CELLS - before} cells in" in done.stderr
    assert grid.with_name("t.parquet").read_bytes() == expected


def test_another_grid_does_not_resume_it(airtoll: Airtoll, grid: Path) -> None:
    with start(grid) as process:
        wait_for_cells(grid, process, 1)
        process.kill()
    grid.write_text(GRID.replace("[6]", "[12]"))
    done = airtoll("sweep", grid, "--out", "t.parquet", "--resume")
    assert done.returncode == 2
    assert "it belongs to another sweep" in one_line(done)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.toml"], "none.toml: cannot be read: No such file"),
        (["grid.toml", "--resume"], "--resume requires --out FILE"),
        (["grid.toml", "--resume", "--out", "x.parquet"], "there is no interrupted sweep to resume"),
        (["grid.toml", "--out", "x.csv"], "must end in .parquet"),
        (["grid.toml", "--out", "there.parquet"], "there.parquet already exists"),
        (["grid.toml", "--workers", "2", "--scheduler", "local"], "mutually exclusive"),
        (["grid.toml", "--scheduler", "tcp://127.0.0.1:1"], "no Dask scheduler answers at this address"),
        (["bad.toml"], "bad.toml: grid[0].rate[1]: 55 is not a"),
        (["vht.toml"], "21.5"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_status_2(
    airtoll: Airtoll, grid: Path, arguments: list[str], words: str
) -> None:
    if "tcp://127.0.0.1:1" in arguments:
        pytest.importorskip("distributed")
    grid.with_name("there.parquet").touch()
    grid.with_name("bad.toml").write_text("[[grid]]\nrate = [6, 55]\n")
    grid.with_name("vht.toml").write_text('phy = "vht"\nrate = "mcs9"\n')
    done = airtoll("sweep", *arguments)
    assert done.returncode == 2, done
    assert words in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert {path.name for path in grid.parent.iterdir()} - {"results"} == {
        "grid.toml",
        "there.parquet",
        "bad.toml",
        "vht.toml",
    }


# Of the other tests of Dask, one compares the table of a cluster that exists, and one interrupts a local cluster. Only
# the test of runs in guests, which uses the same function, lets a local cluster complete its work.
@pytest.mark.long
def test_a_dask_cluster_of_its_own_gives_the_same_table(
    airtoll: Airtoll, grid: Path, expected: bytes
) -> None:
    pytest.importorskip("distributed")
    done = airtoll("sweep", grid, "--out", "t.parquet", "--scheduler", "local")
    assert done.returncode == 0, done.stderr
    assert grid.with_name("t.parquet").read_bytes() == expected


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and two workers that are never restarted: the scheduler's address and the workers."""
    pytest.importorskip("distributed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard"]
    with ExitStack() as stack:
        commands = [
            [*scheduler, "--host", "127.0.0.1", "--port", address.rpartition(":")[2]],
            *[[*worker, "--nthreads", "1"]] * 2,
        ]
        processes = []
        for command in commands:
            process = stack.enter_context(subprocess.Popen(command, **quiet))  # type: ignore[call-overload]
            stack.callback(process.kill)
            processes.append(process)
        _wait_for_workers(address, 2)
        yield address, processes[1:]


def _wait_for_workers(address: str, count: int) -> None:
    ask = (
        "import sys, distributed\n"
        "with distributed.Client(sys.argv[1], timeout=30) as client:\n"
        "    client.wait_for_workers(int(sys.argv[2]), timeout=60)\n"
    )
    subprocess.run([sys.executable, "-c", ask, address, str(count)], check=True, capture_output=True)


def test_a_killed_worker_loses_and_repeats_no_cell(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], grid: Path, expected: bytes
) -> None:
    address, workers = cluster
    with start(grid, "--scheduler", address) as process:
        wait_for_cells(grid, process, 10)
        os.kill(workers[0].pid, signal.SIGKILL)
        workers[0].wait()
        assert kept(grid) < CELLS, "the sweep ended before the worker was killed"
        _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert grid.with_name("t.parquet").read_bytes() == expected


def test_ctrl_c_on_the_terminal_ends_a_sweep_on_a_cluster_of_its_own(grid: Path) -> None:
    pytest.importorskip("distributed")
    command = [AIRTOLL, "sweep", str(grid), "--out", "t.parquet", "--scheduler", "local"]
    with subprocess.Popen(
        command, cwd=grid.parent, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        wait_for_cells(grid, process, 1)
        os.killpg(process.pid, signal.SIGINT)  # like a terminal: airtoll and all its workers
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "cells are kept" in stderr
    assert 1 <= kept(grid) < CELLS
