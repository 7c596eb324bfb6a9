"""Runs in guests: the same seed gives the same octets, whatever else the machine does."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.resources import files
from io import StringIO
from pathlib import Path

import pytest
from command_here import exit_status

from airtoll import calibration
from airtoll.guest import recipe
from airtoll.labs.emulated import WPA_PASSPHRASE
from airtoll.stats.metrics import per_run
from airtoll.store import Result

AIRTOLL = str(Path(sys.executable).with_name("airtoll"))

STUDY = """
title = "Short runs"
[lab]
name = "air"
clock = "virtual"
[factors]
security = ["ccmp"]
transport = ["udp", "tcp"]
ip = ["ipv4"]
packet_size = ["1408 B"]
phy = ["ofdm"]
rate = ["54 Mbit/s"]
[method]
repeats = 1
duration = "0.3 s"
warmup = "0.1 s"
"""


@contextmanager
def load() -> Iterator[None]:
    """A process that never sleeps."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinning:
        try:
            yield
        finally:
            spinning.kill()


def airtoll(*arguments: object, status: int = 0) -> str:
    """Run the command in this process. Returns its output."""
    printed = StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        ended = exit_status(*arguments)
    assert ended == status, printed.getvalue()
    return printed.getvalue()


def contents(directory: Path) -> dict[str, bytes]:
    """Every recorded octet of the runs, except dates, the description of the machine, and checksums over them."""
    found = {}
    for file in sorted((directory / "runs").rglob("*")):
        if file.name == "run.json":
            record = json.loads(file.read_text())
            del record["started"], record["finished"], record["hosts"]["machine"]
            found[str(file.relative_to(directory))] = json.dumps(record).encode()
        elif file.is_file() and file.name != "SHA256SUMS":
            found[str(file.relative_to(directory))] = file.read_bytes()
    return found


@pytest.fixture(scope="module")
def study(kernel: recipe.Kernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study file, and beside it its result."""
    assert kernel.file.exists()
    file = tmp_path_factory.mktemp("guests") / "short.toml"
    file.write_text(STUDY)
    printed = airtoll("run", file, "--pcap", "--out", file.parent / "result", "--workers", 1)
    (file.parent / "printed").write_text(printed)
    return file


def test_every_run_is_valid_and_verified(study: Path) -> None:
    result = Result.open(study.parent / "result")
    assert [record.verdict.reasons for record in result.records()] == [()] * 2
    assert result.verify() == []
    assert result.plan.clock == "virtual"


def test_the_same_seed_gives_the_same_octets_on_a_busy_machine_that_lost_the_byte_code(
    study: Path, tmp_path: Path
) -> None:
    shutil.rmtree(str(files("airtoll.probes") / "__pycache__"), ignore_errors=True)
    # A process of its own, because a process writes missing byte code before its first guest only.
    argv = [AIRTOLL, "run", study, "--pcap", "--out", tmp_path / "again", "--workers", "2"]
    with load():
        subprocess.run(argv, capture_output=True, timeout=300, check=True)
    assert contents(tmp_path / "again") == contents(study.parent / "result")


def test_the_cost_of_virtual_time_is_printed(study: Path) -> None:
    records = list(Result.open(study.parent / "result").records())
    host_s, virtual_s = (
        sum(float(str(record.hosts["machine"][key])) for record in records)
        for key in ("guest_host_s", "guest_virtual_s")
    )
    line = f"virtual time: {host_s / virtual_s:.1f} s of real time per second in each guest\n"
    assert line in (study.parent / "printed").read_text()


def test_no_frame_is_late(study: Path) -> None:
    for record in Result.open(study.parent / "result").records():
        lateness = record.counters["lateness_us"]
        assert isinstance(lateness, dict)
        assert lateness["max"] < 10


def test_cpu_time_is_absent(study: Path) -> None:
    result = Result.open(study.parent / "result")
    metrics = {metric for _, metric, _ in per_run(result.samples())}
    assert {"throughput", "rtt"} <= metrics
    assert not [metric for metric in metrics if metric.startswith("cpu")]
    for record in result.records():
        assert record.counters["emulator_cpu_s"] is None
        assert record.counters["crypto_s"] is None
        assert record.link["clock"] == "virtual"


def test_the_record_names_the_guest(study: Path, kernel: recipe.Kernel) -> None:
    for record in Result.open(study.parent / "result").records():
        machine = record.hosts["machine"]
        assert machine["guest_package"] == kernel.package
        assert machine["guest_sha256"] == kernel.sha256
        assert record.hosts["ap"]["kernel"] != machine["kernel"]


def test_throughput_agrees_with_lab_sim(study: Path, tmp_path: Path) -> None:
    airtoll("run", study, "--lab", "sim", "--clock", "real", "--out", tmp_path / "sim")

    def throughputs(directory: Path) -> dict[str, float]:
        of_metric = per_run(Result.open(directory).samples())
        return {run: value for run, metric, value in of_metric if metric == "throughput"}

    measured, simulated = throughputs(study.parent / "result"), throughputs(tmp_path / "sim")
    assert measured.keys() == simulated.keys()
    for run, value in measured.items():
        assert value == pytest.approx(simulated[run], rel=0.01 if "udp" in run else 0.05), run


def test_an_interrupted_study_keeps_its_runs_and_resumes_on_a_cluster(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "interrupted"
    argv = [AIRTOLL, "run", str(study), "--pcap", "--out", str(out), "--workers", "1"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline_s = time.monotonic() + 120
        while not list(out.glob("runs/0001-*")):
            assert process.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "runs are kept" in stderr
    assert not [entry for entry in out.iterdir() if entry.name.startswith(".tmp")]
    airtoll("run", "--resume", out, "--pcap", "--scheduler", "local")
    assert contents(out) == contents(study.parent / "result")


def test_workers_require_the_virtual_clock(study: Path, tmp_path: Path) -> None:
    told = airtoll("run", study, "--clock", "real", "--workers", 2, "--out", tmp_path / "r", status=2)
    assert "--workers: requires the virtual clock" in told
    assert not (tmp_path / "r").exists()


def test_without_a_guest_the_virtual_clock_is_refused(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    told = airtoll("run", study, "--out", tmp_path / "r", status=2)
    assert told == "airtoll: the virtual clock: the guest is not built: airtoll lab build\n"
    assert not (tmp_path / "r").exists()


def auto_run(study: Path, out: Path, *arguments: object) -> tuple[str, Result]:
    """A run of the study with the clock `auto` and half its cells."""
    short = study.with_name("auto.toml")
    short.write_text(
        STUDY.replace('"virtual"', '"auto"').replace('["ccmp"]', '["open", "ccmp"]').replace(', "tcp"', "")
    )
    told = airtoll("run", short, "--out", out, *arguments)
    return told, Result.open(out)


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_auto_selects_one_clock_for_all_runs_and_says_why(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    slow = calibration.Capacity(0.0, "emulation late: made")
    fast = calibration.Capacity(math.inf)
    monkeypatch.setattr(calibration, "measure", lambda *_: fast if clock == "real" else slow)
    told, result = auto_run(study, tmp_path / "r")
    carried = 2 if clock == "real" else 0
    reason = result.plan.clock_reason or ""
    assert reason.startswith(f"this machine carries {carried} of 2 cells of this study in real time")
    assert f"clock: {reason}\n" in told
    assert "this takes about" in told
    assert f"airtoll selected the clock: {reason}." in (tmp_path / "r" / "report.md").read_text()
    assert result.plan.clock == clock
    assert {record.link["clock"] for record in result.records()} == {clock}


def test_auto_without_a_guest_uses_real_time_and_says_how_to_build_it(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    told, result = auto_run(study, tmp_path / "r")
    reason = "all runs use real time; the virtual clock: the guest is not built: airtoll lab build"
    assert (result.plan.clock, result.plan.clock_reason) == ("real", reason)
    assert f"clock: {reason}\n" in told
    assert reason in (tmp_path / "r" / "report.html").read_text()


def test_workers_select_the_virtual_clock(study: Path, tmp_path: Path) -> None:
    told, result = auto_run(study, tmp_path / "r", "--workers", 2)
    assert "clock: --workers requires virtual time, which gives no CPU metrics" in told
    assert result.plan.clock == "virtual"


def test_the_plan_says_both_times_and_how_the_clock_is_selected(study: Path) -> None:
    told = airtoll("plan", "quickstart")
    assert re.search(r"blocks, about \d+ (s|min) in real time or about \d+ (s|min) in virtual time\n", told)
    assert "selects one clock for all runs; in virtual time, CPU metrics are absent" in told
    assert re.search(r"about \d+ s in virtual time\n", airtoll("plan", study))
    planned = json.loads(airtoll("plan", "quickstart", "--json"))
    assert planned["clock"] == "auto"
    assert planned["estimate_s"] > 0 < planned["estimate_in_guests_s"]


def test_a_capture_of_the_air_decrypts(study: Path, tmp_path: Path) -> None:
    (capture,) = (study.parent / "result" / "runs").glob("*udp*ccmp/raw/air.pcap")
    told = airtoll("decrypt", capture, "--psk", WPA_PASSPHRASE, "--out", tmp_path / "clear.pcap")
    assert "decrypted" in told
