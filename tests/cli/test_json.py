"""`--json` prints what the table says, on standard output alone, and keeps the exit status."""

import csv
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from cli_command import SMALL_STUDY, Airtoll, one_line

from airtoll.cli import app

RECORDED = Path(__file__).parents[1] / "importers" / "recorded"

WITHOUT_FACTS = {
    ("hosts", "restore"): "restores, and prints no facts",
    ("lab", "shell"): "runs until its user ends it",
    ("link", "ap"): "runs until a signal",
    ("link", "sta"): "runs until a signal",
}


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that is not only a group of commands."""
    if words and not (hasattr(command, "commands") and not command.invoke_without_command):
        yield words, command
    if hasattr(command, "commands"):
        context = click.Context(command)
        for name in command.commands:
            yield from leaves(command.resolve_command(context, [name])[1], (*words, name))


def test_every_command_that_prints_facts_has_the_option() -> None:
    found = dict(leaves(app))
    assert len(found) > 15
    without = {
        words
        for words, command in found.items()
        if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert without == set(WITHOUT_FACTS)


def told(airtoll: Airtoll, *arguments: object, status: int = 0) -> Any:
    """The JSON of a command, which prints nothing else."""
    done = airtoll(*arguments, "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("json") / "small.toml"
    path.write_text(SMALL_STUDY.replace('"air"', '"sim"'))
    return path


@pytest.fixture
def result(airtoll: Airtoll, small: Path) -> Path:
    """A finished result in lab sim, measured once for all tests."""
    out = small.with_name("result")
    if not out.exists():
        done = airtoll("run", small, "--out", out, "--json")
        assert done.returncode == 0, done.stderr
        small.with_name("run.json").write_text(done.stdout)
        small.with_name("run.txt").write_text(done.stderr)
    return out


def test_doctor(airtoll: Airtoll) -> None:
    table = airtoll("doctor")
    facts = told(airtoll, "doctor", status=table.returncode)
    assert facts["ready"] == (table.returncode == 0)
    for finding in facts["findings"]:
        word = "yes" if finding["works"] else "NO" if finding["needed"] else "no"
        assert re.search(rf"^{word} +{re.escape(finding['subject'])} ", table.stdout, re.MULTILINE)


def test_doctor_names_everything_that_is_missing_at_once(airtoll: Airtoll, tmp_path: Path) -> None:
    done = airtoll("doctor", "--json", PATH=str(tmp_path))
    assert done.returncode == 1, done.stderr
    words = {each["subject"]: each["words"] for each in json.loads(done.stdout)["findings"]}
    assert (
        "lab air requires the commands 'unshare', 'nsenter', 'ip': apt-get install util-linux iproute2"
        in (words["lab air"])
    )
    assert words["probe ftp"] == "the commands 'curl', 'timeout' are missing: apt-get install curl coreutils"


def test_studies(airtoll: Airtoll) -> None:
    lines = airtoll("studies").stdout.splitlines()[1:]
    studies = told(airtoll, "studies")
    assert [(one["study"], str(one["runs"]), one["title"]) for one in studies] == [
        (*line.split(maxsplit=2)[:2], line.split(maxsplit=2)[2].rstrip()) for line in lines
    ]
    assert all(Path(one["file"]).is_file() for one in studies)
    refused = airtoll("studies", "--json", "published", "kolahi-11ac")
    assert (refused.returncode, one_line(refused)) == (2, "--json: must follow published")


def test_plan(airtoll: Airtoll, small: Path) -> None:
    table = airtoll("plan", small).stdout.splitlines()
    plan = told(airtoll, "plan", small)
    rows = [line.split() for line in table if line[:1].isdigit()][:-1]
    assert [[str(run["order"]), str(run["block"]), str(run["replicate"])] for run in plan["runs"]] == [
        row[:3] for row in rows
    ]
    assert [run["cell"]["security"] for run in plan["runs"]] == [row[3] for row in rows]
    assert table[-1] == f"{len(plan['runs'])} runs in {plan['blocks']} blocks, in virtual time"
    assert (plan["study"], plan["lab"], plan["cells"], plan["estimate_s"]) == ("small", "sim", 2, None)
    timed = told(airtoll, "plan", "quickstart", "--lab", "air") if airtoll("doctor").returncode == 0 else None
    assert timed is None or timed["estimate_s"] > 100


def test_plan_in_sessions(airtoll: Airtoll, small: Path) -> None:
    assert told(airtoll, "plan", small)["switches"] == {
        "block": {"changes": 2, "person_s": 120},
        "session": {"changes": 2, "person_s": 120},
    }
    study = small.with_name("sessions.toml")
    text = small.read_text().replace("repeats = 2", 'repeats = 6\nswitching = "session"\nsessions = 2')
    study.write_text(text.replace('lab = "sim"', 'lab = "air"'))
    plan = told(airtoll, "plan", study, "--lab", "sim", "--switch-time", "90")
    assert (plan["switching"], plan["sessions"], plan["blocks"]) == ("session", 4, 2)
    assert plan["switches"]["session"] == {"changes": 2, "person_s": 180}
    table = airtoll("plan", study, "--lab", "sim").stdout.splitlines()
    assert table[0].split()[:4] == ["run", "block", "session", "replicate"]
    assert [row.split()[2] for row in table[1:13]] == [str(1 + order // 3) for order in range(12)]
    assert table[-1] == "12 runs in 4 sessions and 2 blocks, in virtual time"
    assert not any("by hand" in line for line in table)
    by_hand = [line for line in airtoll("plan", study).stdout.splitlines() if "by hand" in line]
    block, session = plan["switches"]["block"]["changes"], 2
    assert by_hand == [
        f"changes of the access point's settings by block: {block}, {block} min by hand at 60 s each",
        f"changes of the access point's settings by session, 2 per setting: {session}, 2 min by hand at 60 s each",
    ]
    refused = airtoll("plan", study, "--switch-time", "soon")
    assert (refused.returncode, one_line(refused).split(":")[0]) == (2, "Invalid value for '--switch-time'")


def test_run_in_sessions(airtoll: Airtoll, small: Path) -> None:
    study = small.with_name("sessions.toml")
    study.write_text(
        small.read_text().replace("repeats = 2", 'repeats = 4\nswitching = "session"\nsessions = 2')
    )
    done = airtoll("run", study, "--lab", "sim", "--out", small.with_name("in-sessions"), "--json")
    assert done.returncode == 0, done.stderr
    of_run = json.loads(done.stdout)
    assert {cell["n"] for cell in of_run["cells"]} == {2}
    assert of_run["runs"]["valid"] == 8


def test_run_and_report(airtoll: Airtoll, result: Path) -> None:
    printed = result.with_name("run.txt").read_text()
    assert "4/4" in printed
    assert "runs, into" in printed
    of_run = json.loads(result.with_name("run.json").read_text())
    of_report = told(airtoll, "report", result)
    assert of_report["index"] is None
    assert of_report["reports"] == [{**of_run, "paper": [], "figures": []}]
    assert of_run["runs"] == {
        "planned": 4,
        "finished": 4,
        "valid": 4,
        "invalid": 0,
        "repeated": 0,
        "not_needed": 0,
        "remaining": 0,
    }
    with Path(of_run["files"]["csv"]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [
        {name: "" if value is None else str(value) for name, value in cell.items()}
        for cell in of_run["cells"]
    ] == rows
    assert "4 of 4 runs finished, 0 of them invalid" in airtoll("report", result).stdout


def test_several_reports_have_an_index(airtoll: Airtoll, result: Path, tmp_path: Path) -> None:
    found = told(airtoll, "report", result, result, "--out", tmp_path / "index")
    assert len(found["reports"]) == 2
    assert Path(found["index"]).is_file()


def test_verify(airtoll: Airtoll, result: Path, tmp_path: Path) -> None:
    table = airtoll("verify", result).stdout
    facts = told(airtoll, "verify", result)
    assert facts["problems"] == []
    assert table == (
        f"{facts['directory']}: no problems; {facts['runs']['finished']} of {facts['runs']['planned']} runs "
        f"finished, {facts['runs']['valid']} of them valid\n"
    )
    damaged = tmp_path / "damaged"
    shutil.copytree(result, damaged)
    (damaged / "plan.json").chmod(0o644)
    (damaged / "plan.json").write_text("{}")
    facts = told(airtoll, "verify", damaged, status=1)
    assert facts["runs"] is None
    assert airtoll("verify", damaged).stdout.splitlines() == facts["problems"]


def test_metrics(airtoll: Airtoll, result: Path) -> None:
    text = airtoll("metrics", result).stdout
    families = told(airtoll, "metrics", result)
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    told_samples = [
        (family["name"], sample["labels"].get("security"), sample["value"])
        for family in families
        for sample in family["samples"]
    ]
    parsed = []
    for line in samples:
        name, labels, value = re.fullmatch(r"(\w+)\{(.*)\} (\S+)", line).groups()  # type: ignore[union-attr]
        security = re.search(r'security="(\w+)"', labels)
        parsed.append((name, security and security[1], float(value)))
    assert told_samples == parsed
    assert all(family["unit"] is None or family["name"].endswith(family["unit"]) for family in families)
    refused = airtoll("metrics", result, "--json", "--out", "x")
    assert (refused.returncode, one_line(refused)) == (2, "--json and --out are mutually exclusive")


def test_import(airtoll: Airtoll, tmp_path: Path) -> None:
    levels = ("security=ccmp", "phy=ht", "rate=mcs7", "bandwidth=20", "gi=long", "topology=wired-ap")
    options = [word for level in levels for word in ("--level", level)]
    file = RECORDED / "iperf3-tcp-client.json"
    table = airtoll("import", file, *options, "--out", tmp_path / "printed").stdout.splitlines()
    facts = told(airtoll, "import", file, *options, "--out", tmp_path / "told")
    (run,) = facts["runs"]
    assert facts["directory"] == str(tmp_path / "told")
    verdict = "valid" if run["valid"] else f"invalid: {'; '.join(run['reasons'])}"
    assert table[0] == f"{run['id']}: {run['file']}: {verdict}"


def test_output_formats_exclude_each_other(airtoll: Airtoll, result: Path) -> None:
    refused = airtoll("rtl", "report", "--json", "--csv")
    assert (refused.returncode, one_line(refused)) == (
        2,
        "--json, --csv and --markdown are mutually exclusive",
    )
    refused = airtoll("link", "status", "--json", "--openmetrics")
    assert (refused.returncode, one_line(refused)) == (2, "--json and --openmetrics are mutually exclusive")
    refused = airtoll("compare", result, result, "--json", "--markdown")
    assert (refused.returncode, one_line(refused)) == (2, "--json and --markdown are mutually exclusive")
