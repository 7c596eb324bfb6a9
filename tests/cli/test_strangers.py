"""Files from strangers: a study, a result directory or an inventory that tries to run or to write something.

Each attack names a program that would create the file `ran`.
"""

import json
import os
import shutil
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from cli_command import SMALL_STUDY, Airtoll, one_line
from command_here import exit_status
from hypothesis import given
from hypothesis import strategies as st
from odd_json import ODD, RANDOM, changed

from airtoll.agent.ssh import Ssh
from airtoll.cli.base import harmless
from airtoll.errors import AirtollError
from airtoll.report import table
from airtoll.report.material.data import ReportData
from airtoll.report.pages.files import cell_records
from airtoll.store import Result
from airtoll.study import expand, load_study

INVENTORY = """
[hosts.sta]
address = "nowhere"
ssh_config = "ssh_config"
[hosts.ap]
address = "nowhere"
ssh_config = "ssh_config"
[access_point]
kind = "fixed"
"""


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """An inventory whose ssh_config runs a program."""
    folder = tmp_path / "stranger"
    folder.mkdir()
    (folder / "ssh_config").write_text(f"Host *\n  ProxyCommand touch {tmp_path}/ran; exit 1\n")
    (folder / "lab.toml").write_text(INVENTORY)
    return folder / "lab.toml"


def study_of(folder: Path, inventory: Path) -> Path:
    """A study that names the inventory."""
    text = SMALL_STUDY.replace('lab = "air"', f'lab = {{ name = "hosts", inventory = "{inventory}" }}')
    (folder / "small.toml").write_text(text)
    return folder / "small.toml"


@pytest.fixture
def result(tmp_path: Path, stranger: Path) -> Path:
    """A result without runs whose plan names the inventory."""
    file = study_of(tmp_path, stranger)
    plan = expand(load_study(file), inventory=stranger)
    Result.create(tmp_path / "result", file.read_text(), plan, "hosts", quick=False).close()
    return tmp_path / "result"


def rewrite(file: Path, **keys: Any) -> None:
    file.chmod(0o644)
    file.write_text(json.dumps({**json.loads(file.read_text()), **keys}))


@pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh (openssh-client) is missing")
def test_the_inventory_of_the_attack_runs_a_program(airtoll: Airtoll, stranger: Path, tmp_path: Path) -> None:
    """Without this, the other tests would prove nothing."""
    study = study_of(tmp_path, stranger)
    assert airtoll("run", study, "--inventory", stranger).returncode == 2
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_study_does_not_choose_an_inventory(
    airtoll: Airtoll, stranger: Path, tmp_path: Path, command: str
) -> None:
    done = airtoll(command, study_of(tmp_path, stranger))
    assert (done.returncode, one_line(done)) == (2, "lab hosts requires an inventory: --inventory FILE")
    assert not (tmp_path / "ran").exists()


def test_a_result_directory_does_not_choose_an_inventory(
    airtoll: Airtoll, result: Path, tmp_path: Path
) -> None:
    done = airtoll("run", "--resume", result)
    assert (done.returncode, one_line(done)) == (2, "lab hosts requires an inventory: --inventory FILE")
    assert not (tmp_path / "ran").exists()


def test_a_result_is_resumed_with_the_inventory_that_began_it(
    airtoll: Airtoll, stranger: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(INVENTORY.replace('ssh_config = "ssh_config"', 'ssh_config = "/dev/null"'))
    text = study_of(tmp_path, stranger).read_text()
    plan = expand(load_study(tmp_path / "small.toml"), inventory=mine)
    begun = plan.model_copy(update={"inventory_sha256": 64 * "0"})
    Result.create(tmp_path / "result", text, begun, "hosts", quick=False).close()
    done = airtoll("run", "--resume", "result", "--inventory", mine)
    assert (done.returncode, one_line(done)) == (
        2,
        f"--inventory: {mine} is not the inventory with which result was begun",
    )
    done = airtoll("run", "--resume", "result", "--inventory", "none.toml")
    assert (done.returncode, one_line(done)) == (2, "none.toml: cannot be read: No such file or directory")


def test_a_result_directory_does_not_choose_radios(airtoll: Airtoll, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL_STUDY.replace('lab = "air"', 'lab = "linux"'))
    plan = expand(load_study(file), radios=("phy0", "phy1"))
    Result.create(tmp_path / "result", file.read_text(), plan, "linux", quick=False).close()
    begun = "--resume: result was begun with --radios phy0,phy1: use the same radios"
    for options in ((), ("--radios", "phy0,phy2")):
        done = airtoll("run", "--resume", "result", *options)
        assert (done.returncode, one_line(done)) == (2, begun)
    done = airtoll("run", "--resume", "result", "--radios", "phy0,phy1")
    assert done.returncode == 2
    assert begun not in one_line(done)  # this machine does not have them


def test_a_destination_is_no_option_of_ssh(tmp_path: Path) -> None:
    for destination in (f"-oProxyCommand=touch {tmp_path}/ran", f"-F{tmp_path}/config"):
        with Ssh("sta", destination) as way, pytest.raises(AirtollError):
            way.connect()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "cell",
    [{"security": "../../../ran"}, {"transport": "../../ran"}, {"ip": "../ran"}, {"packet_size": "/ran"}],
    ids=lambda cell: next(iter(cell)),
)
def test_the_name_of_a_run_is_no_path_out_of_the_result(
    airtoll: Airtoll, result: Path, cell: dict[str, str]
) -> None:
    plan = json.loads((result / "plan.json").read_text())["plan"]
    plan["runs"][0]["cell"] |= cell
    rewrite(result / "plan.json", plan=plan)
    done = airtoll("report", result)
    assert done.returncode == 1
    assert f"plan.json: plan.runs.0.cell.{next(iter(cell))}: " in one_line(done)


def test_a_link_in_place_of_the_runs_is_not_written_through(result: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".tmp-mine").mkdir(parents=True)
    (result / "runs").rmdir()
    (result / "runs").symlink_to(elsewhere)
    text, plan = (result / "study.toml").read_text(), Result.open(result).plan
    with pytest.raises(AirtollError, match="cannot resume: runs is a link to another directory"):
        Result.resume(result, text, plan)
    assert [entry.name for entry in elsewhere.iterdir()] == [".tmp-mine"]


def test_links_in_a_result_create_and_remove_nothing_elsewhere(result: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (result / ".tmp-link").symlink_to(tmp_path / "mine")
    text, plan = (result / "study.toml").read_text(), Result.open(result).plan
    Result.resume(result, text, plan).close()
    assert not (result / ".tmp-link").is_symlink()
    assert (tmp_path / "mine").is_dir()
    (result / ".lock").symlink_to(tmp_path / "ran")
    with pytest.raises(AirtollError, match="cannot resume"):
        Result.resume(result, text, plan)
    assert not (tmp_path / "ran").exists()


def test_a_plan_without_runs_is_one_line(airtoll: Airtoll, result: Path) -> None:
    plan = json.loads((result / "plan.json").read_text())["plan"]
    rewrite(result / "plan.json", plan={**plan, "runs": []})
    done = airtoll("run", "--resume", "result")
    assert (done.returncode, one_line(done)) == (2, "--resume: the plan in result has no runs")


@pytest.mark.parametrize("name", ["plan.json", "study.toml"])
def test_a_pipe_in_a_result_does_not_block(airtoll: Airtoll, result: Path, name: str) -> None:
    (result / name).unlink()
    os.mkfifo(result / name)
    done = airtoll("report", result)
    assert done.returncode == 1
    assert one_line(done) == f"cannot read {result}/{name}: not a regular file"


def test_a_device_in_place_of_the_checksums_does_not_block_a_resumed_study(result: Path) -> None:
    stored = Result.open(result)
    (result / "SHA256SUMS").unlink()
    (result / "SHA256SUMS").symlink_to("/dev/zero")
    with pytest.raises(AirtollError, match="SHA256SUMS: not a regular file"):
        Result.resume(result, stored.study_text, stored.plan)


def test_text_of_a_stranger_does_not_drive_the_terminal(airtoll: Airtoll, result: Path) -> None:
    plan = json.loads((result / "plan.json").read_text())["plan"]
    rewrite(result / "plan.json", plan={**plan, "study": "\x1b]52;c;ZXZpbA==\x07\x9b2J"})
    done = airtoll("report", result)
    assert "\x1b" not in done.stdout + done.stderr
    done = airtoll("run", "--resume", f"{result}\x1b[2J")
    assert done.returncode == 2
    assert "\\x1b[2J" in one_line(done)
    assert harmless("a\tb\nc\x1b[m\x9b") == "a\tb\nc\\x1b[m\\x9b"
    assert harmless("\u202e5\u2066") == "\\u202e5\\u2066"  # the order of the text on the screen is its order


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of lab sim with one run per level."""
    folder = tmp_path_factory.mktemp("simulated")
    (folder / "small.toml").write_text(SMALL_STUDY.replace("repeats = 2", "repeats = 1"))
    assert exit_status("run", "small.toml", "--lab", "sim", "--out", "result", folder=folder) == 0
    return folder / "result"


@given(st.sampled_from(["plan.json", "runs/*/run.json", "runs/*/raw/*/answer.json"]), RANDOM, ODD)
def test_any_value_anywhere_in_a_result_is_read_or_refused(
    simulated: Path, pattern: str, at: Random, odd: object
) -> None:
    said = ""
    with TemporaryDirectory() as name:
        result = Path(shutil.copytree(simulated, Path(name, "result")))
        file = sorted(result.glob(pattern))[0]
        file.chmod(0o644)
        file.write_text(json.dumps(changed(json.loads(file.read_text()), at, odd)))
        try:
            opened = Result.open(result)
            cell_records(ReportData.of(opened))
            table(opened)
        except AirtollError as error:
            said = str(error)
    assert "\n" not in said
