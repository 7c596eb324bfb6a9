"""Files from strangers: a study, a result directory or an inventory that tries to run or to write something.

Each attack names a program that would create the file `ran`.
"""

import json
import os
import re
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

from airtoll import durable
from airtoll.agent.ssh import Ssh
from airtoll.cli.base import harmless
from airtoll.errors import AirtollError
from airtoll.report.material.data import ReportData
from airtoll.report.material.rows import build
from airtoll.report.pages.files import cell_records
from airtoll.rtl import default_file
from airtoll.store import Result
from airtoll.study import expand, load_study

CAPTURES = Path(__file__).parents[2] / "crates/wlan-decrypt/tests/captures"

GRID = """
title = "One cell"
duration = "0.1 s"
"""

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


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("cell", "packet_size", 10**400),
        ("link", "path_loss", {"exponent": 10**400}),
        ("link", "path_loss", {"distance_m": [[0, 10**400], [10**400, 0]]}),
    ],
)
def test_a_number_larger_than_every_float_is_one_line(
    airtoll: Airtoll, result: Path, table: str, key: str, value: object
) -> None:
    plan = json.loads((result / "plan.json").read_text())["plan"]
    (plan["runs"][0]["cell"] if table == "cell" else plan["link"])[key] = value
    rewrite(result / "plan.json", plan=plan)
    done = airtoll("report", result)
    assert done.returncode == 1
    assert key in one_line(done)


def test_a_link_in_place_of_the_runs_is_not_written_through(result: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".tmp-mine").mkdir(parents=True)
    text, plan = (result / "study.toml").read_text(), Result.open(result).plan
    (result / "runs").rmdir()
    (result / "runs").symlink_to(elsewhere)
    with pytest.raises(AirtollError, match="runs is a link to another directory"):
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


@pytest.mark.parametrize("existing", [True, False], ids=["existing", "dangling"])
@pytest.mark.parametrize(
    ("link", "arguments"),
    [
        ("paper", ["report", "--paper"]),
        ("figures", ["report", "--figures", "result/figures"]),
        ("figures", ["report", "--figures", "result/figures/svg"]),
        ("pages", ["report", "--pages", "result/pages"]),
        ("report", ["report", "--out", "result/report"]),
        ("exported", ["metrics", "--out", "result/exported/x.prom"]),
        ("judged", ["gate", "--rule", "loss >= 0 %", "--allow-incomplete", "--junit", "result/judged/x.xml"]),
    ],
    ids=lambda value: value if isinstance(value, str) else value[-1],
)
def test_no_command_writes_through_a_link_in_a_result(
    airtoll: Airtoll, published: Path, tmp_path: Path, link: str, arguments: list[str], existing: bool
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if existing:
        elsewhere.mkdir()
    shutil.copytree(published, tmp_path / "result")
    (tmp_path / "result" / link).symlink_to(elsewhere)
    command, *options = arguments
    done = airtoll(command, "result", *options)
    assert done.returncode == 2
    assert one_line(done).endswith(f"{link} is a link")
    assert not existing or not list(elsewhere.iterdir())
    assert elsewhere.exists() == existing


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "result"],
        ["report", "result", "--out", "result/new"],
        ["metrics", "result", "--out", "result/x.prom"],
        ["gate", "result", "--rule", "loss >= 0 %", "--allow-incomplete", "--junit", "result/x.xml"],
    ],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.skipif(os.geteuid() != 0, reason="this user may share a directory with others")
def test_no_command_writes_into_a_result_that_others_can_write_to(
    airtoll: Airtoll, published: Path, tmp_path: Path, arguments: list[str]
) -> None:
    result = Path(shutil.copytree(published, tmp_path / "result"))
    result.chmod(0o777)
    before = sorted(path.name for path in result.iterdir())
    done = airtoll(*arguments)
    assert (done.returncode, "other users can write to it" in one_line(done)) == (2, True)
    assert sorted(path.name for path in result.iterdir()) == before


def test_a_result_directory_may_be_a_link(airtoll: Airtoll, simulated: Path, tmp_path: Path) -> None:
    shutil.copytree(simulated, tmp_path / "elsewhere")
    (tmp_path / "result").symlink_to("elsewhere")
    assert airtoll("report", "result").returncode == 0
    assert airtoll("verify", "result").returncode == 0
    assert (tmp_path / "elsewhere" / "report.html").exists()


@pytest.mark.parametrize(
    "name", ["study.toml", "runs/ID/run.json", "runs/ID/samples.parquet", "runs/ID", "runs"]
)
def test_a_link_in_a_result_is_not_read(airtoll: Airtoll, simulated: Path, tmp_path: Path, name: str) -> None:
    """The report, which the user may publish, would contain the private file."""
    result = Path(shutil.copytree(simulated, tmp_path / "result"))
    (result / "report.html").unlink()
    place = result / name.replace("ID", sorted(path.name for path in (result / "runs").iterdir())[0])
    place.rename(tmp_path / "private")
    place.symlink_to(tmp_path / "private")
    for command in ("report", "metrics"):
        done = airtoll(command, "result")
        assert done.returncode in (1, 2)
        assert " is a link" in one_line(done).replace(":", "")
    assert not (result / "report.html").exists()
    done = airtoll("verify", "result")
    assert (done.returncode, done.stderr) == (1, "")
    assert str(place.relative_to(result)) in done.stdout


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
    with pytest.raises(AirtollError, match="SHA256SUMS: is a link"):
        Result.resume(result, stored.study_text, stored.plan)


DRIVING = "\x1b]52;c;ZXZpbA==\x07\x9b2J"
"""Sets the clipboard and clears the screen."""


@pytest.fixture(scope="module")
def driving(simulated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files from a stranger: every text that readers accept, and every name, drives a terminal."""
    folder = tmp_path_factory.mktemp("driving")
    result = Path(shutil.copytree(simulated, folder / f"result{DRIVING[1:]}"))
    rewrite(
        result / "plan.json",
        plan={**json.loads((result / "plan.json").read_text())["plan"], "study": DRIVING},
    )
    for number, file in enumerate(sorted(result.glob("runs/*/run.json"))):
        record = json.loads(file.read_text())
        machine = {"processor": f"{DRIVING}{number}", "kernel": f"{DRIVING}{number}"}
        spoiled = {"throughput": DRIVING}
        rewrite(
            file,
            versions={"airtoll": f"{DRIVING}{number}", "python": DRIVING, "tools": {"engine": DRIVING}},
            hosts={role: {**facts, **machine} for role, facts in record["hosts"].items()},
            verdict={
                "valid": number > 0,
                "reasons": [] if number else [f"lost: {DRIVING}"],
                "spoiled": spoiled,
            },
        )
        (file.parent / "SHA256SUMS").chmod(0o644)
        names = durable.files_in(file.parent) - {"SHA256SUMS"}
        (file.parent / "SHA256SUMS").write_text(durable.sums(file.parent, names))
    (result / "SHA256SUMS").write_text(durable.sums(result, _listed(result)))
    designs = json.loads(default_file().read_text())
    for point in designs["points"].values():
        point["title"] = f"{DRIVING}{point['title']}"
    (folder / "designs.json").write_text(json.dumps(designs))
    shutil.copy(CAPTURES / "wep40.pcap", folder / f"{DRIVING}.pcap")
    (folder / "grid.toml").write_text(GRID)
    (folder / f"{DRIVING}.txt").write_text("nothing")
    return folder


def _listed(result: Path) -> set[str]:
    """The files that SHA256SUMS of a result lists."""
    return {
        "plan.json",
        "study.toml",
        *(f"runs/{file.name}/SHA256SUMS" for file in (result / "runs").iterdir()),
    }


RESULT = f"result{DRIVING[1:]}"


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", RESULT),
        ("report", RESULT, "--json"),
        ("verify", RESULT),
        ("metrics", RESULT),
        ("gate", RESULT, "--rule", "loss >= 0 %", "--allow-incomplete"),
        ("compare", RESULT, RESULT, "--all"),
        ("compare", RESULT, RESULT, "--all", "--markdown"),
        ("run", "--resume", RESULT),
        ("import", f"{DRIVING}.txt", "--title", "x"),
        ("decrypt", f"{DRIVING}.pcap", "--key", "1f2e3d4c5b"),
        ("sweep", "grid.toml", "--csv", "--out", f"{DRIVING}.parquet"),
        ("rtl", "report", "--results", "designs.json"),
        ("rtl", "report", "--results", "designs.json", "--csv"),
        ("rtl", "report", "--results", "designs.json", "--markdown"),
    ],
    ids=lambda arguments: "-".join(word for word in arguments if word.isascii() and word.isprintable()),
)
def test_text_of_a_stranger_does_not_drive_the_terminal(
    airtoll: Airtoll, driving: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    shutil.copytree(driving, tmp_path, dirs_exist_ok=True)
    done = airtoll(*arguments)
    said = done.stdout + done.stderr
    assert re.search(r"\\(x|u00)9b", said)  # otherwise the test would prove nothing
    assert said.replace("\n", "").replace("\t", "").isprintable()


def test_control_characters_are_escapes() -> None:
    assert harmless("a\tb\nc\x1b[m\x9b") == "a\tb\nc\\x1b[m\\x9b"
    assert harmless("\u202e5\u2066") == "\\u202e5\\u2066"  # the order of the text on the screen is its order


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of lab sim with one run per level."""
    folder = tmp_path_factory.mktemp("simulated")
    (folder / "small.toml").write_text(SMALL_STUDY.replace("repeats = 2", "repeats = 1"))
    assert exit_status("run", "small.toml", "--lab", "sim", "--out", "result", folder=folder) == 0
    return folder / "result"


@pytest.fixture(scope="module")
def published(simulated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result `simulated`, whose study repeats a paper."""
    result = Path(shutil.copytree(simulated, tmp_path_factory.mktemp("published") / "result"))
    (result / "study.toml").chmod(0o644)
    (result / "study.toml").write_text(f'published = "kolahi-11ac"\n{SMALL_STUDY}')
    (result / "SHA256SUMS").write_text(durable.sums(result, _listed(result)))
    return result


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
            build(ReportData.of(opened))
        except AirtollError as error:
            said = str(error)
    assert "\n" not in said
