"""Every fault ends in one clear line and the right exit status, and finished measurements are kept."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from cli_command import AIRTOLL, IN_OWN_MOUNTS, Airtoll, assert_performed, one_line

from airtoll.durable import LOCK


def runs_in(result: Path) -> dict[str, int]:
    """The finished runs of a result: names, and modification times of their records."""
    return {path.parent.name: path.stat().st_mtime_ns for path in result.glob("runs/[0-9]*/run.json")}


def wait_for_runs(result: Path, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while len(runs_in(result)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["run", "no-such-study"], 2, "no-such-study"),
        (["run", "small.toml", "--lab", "moon"], 2, "lab: 'moon' is not one of air, linux, sim"),
        (["run", "--resume", "small.toml"], 2, "--resume: small.toml is not a result directory"),
        (["run", "--resume", "."], 2, "."),
        (["run"], 2, "Missing argument 'STUDY|DIR'; see airtoll run --help"),
        (["run", "--sideways"], 2, "No such option '--sideways'; see airtoll run --help"),
        (["sweep", "grid.toml", "--workers", "many"], 2, "Invalid value for '--workers'"),
        (["simulate", "--phy"], 2, "Option '--phy' requires an argument; see airtoll simulate --help"),
        (["simulate", "--path-loss", "{exponent = nan}"], 2, "exponent: nan is not a finite number"),
        (["plan", "small.toml", "--quik"], 2, "'--quik' (did you mean '--quick'?); see airtoll plan --help"),
        (
            ["studies", "published", "--cs"],
            2,
            "(did you mean one of: '--csv', '--json'?); see airtoll studies",
        ),
        (["rtl", "report", "--results", "deep.json"], 2, "deep.json: is nested too deeply"),
        (["link", "ap", "/dev/zero"], 2, "/dev/zero: is a device; expected a configuration file"),
        (["plan", "digits.toml"], 2, "digits.toml: not TOML: a number has too many digits"),
        (["measure"], 2, "No such command 'measure'; see airtoll --help"),
        (["run", "small.toml", "--quick"], 2, "[quick]"),
        (["verify", "nowhere"], 2, "nowhere"),
        (["report", "."], 2, "."),
        (["plan", "broken.toml"], 2, "broken.toml: factors.security"),
        (["run", "unprotected.toml", "--lab", "sim"], 2, "wpa_key_mgmt sae requires ieee80211w required"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_status_2(
    airtoll: Airtoll, study: Path, arguments: list[str], status: int, words: str
) -> None:
    broken = study.read_text().replace('["open", "ccmp"]', "[]")
    study.with_name("broken.toml").write_text(broken)
    study.with_name("digits.toml").write_text("title = " + "9" * 5000)
    study.with_name("deep.json").write_text("[" * 100_000)
    unprotected = '\n[link]\nwpa_key_mgmt = "sae"\nieee80211w = "disabled"\n'
    study.with_name("unprotected.toml").write_text(study.read_text() + unprotected)
    done = airtoll(*arguments)
    assert done.returncode == status
    assert words in one_line(done)
    assert not study.with_name("results").exists()


@pytest.mark.parametrize(
    "command", ["airtoll --version", "airtoll --help", "airtoll studies", "airtoll doctor --json"]
)
def test_a_full_disk_behind_standard_output_is_one_line(tmp_path: Path, command: str) -> None:
    done = shell(f"{command} > /dev/full", tmp_path)
    assert (done.returncode, one_line(done)) == (1, "No space left on device")


@pytest.mark.parametrize(
    "command", ["airtoll --version", "airtoll studies", "airtoll studies published kolahi-11ac"]
)
def test_a_closed_pipe_is_no_error(tmp_path: Path, command: str) -> None:
    done = shell(f"(sleep 1; {command}; echo $? >&2) | true", tmp_path)
    assert done.stderr == "0\n"


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(AIRTOLL).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    return subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.usefixtures("needs_air")
def test_a_missing_tool_is_named_with_its_package(airtoll: Airtoll, study: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("ss", "timeout", "unshare", "nsenter", "ip", "true", "sh"):
        found = shutil.which(name)
        assert found is not None, f"the tests require {name}"
        (tools / name).symlink_to(found)
    done = airtoll("run", study, PATH=str(tools))
    assert done.returncode == 2
    assert "apt-get install iperf3" in one_line(done)
    assert not (tmp_path / "results").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="this user is not root, so cannot hide /dev/net/tun")
def test_a_missing_tun_device_is_named(airtoll: Airtoll, study: Path) -> None:
    hide = 'mount -t tmpfs none /dev/net && exec "$0" "$@"'
    done = airtoll("run", study, prefix=(*IN_OWN_MOUNTS, hide))
    assert done.returncode == 2
    assert "lab air requires /dev/net/tun" in one_line(done)


@pytest.mark.skipif(os.geteuid() != 0, reason="this user is not root, so cannot forbid user namespaces")
def test_forbidden_namespaces_are_named_with_the_remedy(airtoll: Airtoll, study: Path) -> None:
    # A user namespace in which no further one can be created, and then without capabilities.
    forbid = (
        "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200; "
        "exec unshare --user --map-root-user sh -ec 'echo 0 > /proc/sys/user/max_user_namespaces; "
        'exec setpriv --bounding-set=-all --inh-caps=-all "$0" "$@"\' "$0" "$@"'
    )
    done = airtoll("run", study, prefix=(*IN_OWN_MOUNTS, forbid))
    assert done.returncode == 2
    assert "kernel.unprivileged_userns_clone=1" in one_line(done)


@pytest.mark.usefixtures("needs_air")
@pytest.mark.skipif(os.geteuid() != 0, reason="this user is not root, so cannot mount a small disk")
def test_a_full_disk_keeps_finished_runs(airtoll: Airtoll, study: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    small = (
        f"mount -t tmpfs -o size=256k none {disk}; status=0; "
        f'"$0" "$@" || status=$?; cp -a {disk} {tmp_path}/kept; exit $status'
    )
    done = airtoll("run", study, "--out", disk / "result", prefix=(*IN_OWN_MOUNTS, small))
    assert done.returncode == 1
    assert "No space left on device" in one_line(done)
    kept = tmp_path / "kept" / "result"
    before = runs_in(kept)
    again = airtoll("run", study, "--out", kept, "--resume")
    assert_performed(again, kept)
    after = runs_in(kept)
    assert len(after) == 4
    assert {name: after[name] for name in before} == before


@pytest.mark.usefixtures("needs_air")
@pytest.mark.parametrize(
    ("how", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_an_interrupted_study_is_resumed_without_repeating_a_run(
    airtoll: Airtoll, study: Path, tmp_path: Path, how: signal.Signals, status: int
) -> None:
    result = tmp_path / "result"
    command = [AIRTOLL, "run", str(study), "--out", str(result)]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_runs(result, 1, process)
        process.send_signal(how)
        _, stderr = process.communicate(timeout=30)
        assert process.returncode == status
    if how != signal.SIGKILL:
        assert "interrupted" in stderr
        assert f"to continue: airtoll run --resume {result}" in stderr
    # A program that the killed command was starting has the lock until it executes.
    with suppress(FileNotFoundError), (result / LOCK).open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    before = runs_in(result)
    assert 1 <= len(before) < 4
    study.unlink()  # the result contains the study
    refused = airtoll("run", "--resume", result, "--lab", "sim")
    assert (refused.returncode, one_line(refused)) == (2, f"--lab: the plan in {result} cannot change")
    done = airtoll("run", "--resume", result)
    assert_performed(done, result)
    after = runs_in(result)
    assert len(after) == 4
    assert {name: after[name] for name in before} == before
    assert airtoll("verify", result).returncode == 0


@pytest.mark.usefixtures("needs_air")
def test_an_emulator_killed_in_mid_run_is_named_and_the_rest_can_be_resumed(
    airtoll: Airtoll, study: Path, tmp_path: Path
) -> None:
    result = tmp_path / "result"
    command = [AIRTOLL, "run", str(study), "--out", str(result)]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_runs(result, 1, process)
        while not (emulators := emulators_of(process.pid)):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        os.kill(emulators[0], signal.SIGKILL)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 1
    assert "lab air: the emulator was killed" in stderr
    assert "--resume" in stderr
    assert "Traceback" not in stderr
    kept = len(runs_in(result))
    assert 1 <= kept < 4
    done = airtoll("run", study, "--out", result, "--resume")
    assert_performed(done, result)
    assert len(runs_in(result)) == 4


def emulators_of(pid: int) -> list[int]:
    """The emulators that a running airtoll has started: grandchildren, below unshare(1)."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(words[1]), []).append(int(stat.parent.name))
    found = []
    for child in children.get(pid, []):
        for grandchild in children.get(child, []):
            with suppress(FileNotFoundError):
                if b"emulate" in Path(f"/proc/{grandchild}/cmdline").read_bytes():
                    found.append(grandchild)
    return found


@pytest.mark.usefixtures("needs_air")
def test_the_record_and_the_report_agree(airtoll: Airtoll, study: Path, tmp_path: Path) -> None:
    result = tmp_path / "result"
    done = airtoll("run", study, "--out", result, "--pcap")
    assert_performed(done, result)
    assert str(result / "report.html") in done.stdout
    records = [json.loads(path.read_text()) for path in result.glob("runs/[0-9]*/run.json")]
    assert len(records) == 4
    assert all((path / "raw" / "air.pcap").stat().st_size > 1000 for path in result.glob("runs/[0-9]*"))
    assert airtoll("verify", result).returncode == 0
    again = airtoll("run", study, "--out", result)
    assert again.returncode == 2
    assert "--resume" in one_line(again)
    damaged = next(result.glob("runs/[0-9]*/samples.parquet"))
    damaged.chmod(0o644)
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    verdict = airtoll("verify", result)
    assert verdict.returncode == 1
    assert damaged.parent.name in verdict.stdout
