"""Commands, files and output in the documentation are right.

Pages of the tutorial and the how-to guides are sessions: blocks with a file name are written to files, `console` blocks
are run and their output is compared, Python blocks are run. `...` in expected output matches any lines. Commands in
other blocks and in running text are only parsed.
"""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import click
import pytest
from command_here import exit_status
from doc_pages import DOCS, PAGES, Fence, fences, generated, name_of, prose

from airtoll._rust import check_scenario
from airtoll.cli import app
from airtoll.judge import read_rules
from airtoll.labs.hosts import Hosts
from airtoll.labs.inventory import load_inventory
from airtoll.study import expand, load_study
from airtoll.study.schema import TABLES
from airtoll.sweep.grid import load_grid

TUTORIAL = tuple(DOCS / "tutorial" / name for name in ("first-study.md", "reading-a-report.md"))
GUIDES = tuple(sorted((DOCS / "how-to").glob("*.md")))
WITH_CONSOLE = tuple(page for page in GUIDES if any(fence.language == "console" for fence in fences(page)))


# Sessions


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory after following all pages of the tutorial."""
    directory = tmp_path_factory.mktemp("tutorial")
    for page in TUTORIAL:
        follow(page, directory)
    return directory


def test_the_tutorial_works(tutorial: Path) -> None:
    assert (tutorial / "results/first/report.html").stat().st_size > 100_000


@pytest.mark.parametrize("page", WITH_CONSOLE, ids=name_of)
def test_a_guide_works(page: Path, tutorial: Path, tmp_path: Path) -> None:
    shutil.copytree(tutorial, tmp_path, dirs_exist_ok=True)
    follow(page, tmp_path)


def test_the_tutorial_is_all_there_is() -> None:
    with_machines = {DOCS / "tutorial" / "two-laptops-and-a-router.md"}
    assert set(TUTORIAL) == set((DOCS / "tutorial").glob("*.md")) - with_machines
    assert len(WITH_CONSOLE) > 3


def test_the_files_of_the_tutorial_with_machines_are_valid(tmp_path: Path) -> None:
    follow(DOCS / "tutorial" / "two-laptops-and-a-router.md", tmp_path)
    inventory = load_inventory(tmp_path / "lab.toml")
    assert set(inventory.hosts) == {"sta", "server"}
    plan = expand(load_study(tmp_path / "router.toml"), lab="hosts")
    (tmp_path / "passphrase").write_text("a toll on the air")
    (tmp_path / "passphrase").chmod(0o600)
    with closing(Hosts(tmp_path / "lab.toml")) as lab:
        assert [lab.check(run.cell) for run in plan.runs] == [None] * len(plan.runs)


def follow(page: Path, directory: Path) -> None:
    """Follow a page: write its files and run its commands, in order."""
    for fence in fences(page):
        where = f"{name_of(page)}, line {fence.line}"
        if fence.title is not None:
            (directory / fence.title).write_text(fence.text, encoding="utf-8")
        elif fence.language == "console":
            converse(fence, directory, where)
        elif fence.language == "python":
            done = called([sys.executable, "-c", fence.text], directory)
            assert done.returncode == 0, f"{where}: {done.stdout}"


def converse(fence: Fence, directory: Path, where: str) -> None:
    """Run the commands of a block in order, and compare their output and exit status."""
    status = 0
    steps = re.split(r"^\$ ", fence.text, flags=re.MULTILINE)
    assert steps[0] == "", f"{where}: the block does not begin with a command"
    for number, step in enumerate(steps[1:]):
        command, _, expected = step.partition("\n")
        if command == "echo $?":
            assert expected.strip() == str(status), f"{where}: {command}"
            continue
        words = words_of(command)
        here = words[0] == "airtoll" and not any(map(OPERATOR.fullmatch, words))
        done = called_here(words[1:], directory) if here else called(["bash", "-c", command], directory)
        status = done.returncode
        told = len(steps) > number + 2 and steps[number + 2].startswith("echo $?")
        assert told or status == 0, f"{where}: {command}: {done.stdout}"
        assert printed_as_shown(done.stdout, expected), f"{where}: {command} printed\n{done.stdout}"


def called(command: Sequence[str], directory: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, "PATH": path, "PYTHONUTF8": "1", "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


def called_here(arguments: Sequence[str], directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in this process."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        status = exit_status(*arguments, folder=directory, COLUMNS="80")
    return subprocess.CompletedProcess(arguments, status, printed.getvalue())


def printed_as_shown(printed: str, shown: str) -> bool:
    """Whether the output is as shown, except for blanks at the ends of lines; `...` matches any text."""

    def pattern(line: str) -> str:
        if line == "...":
            return r"(?:.*\n)*?"
        return r"[^\n]*".join(re.escape(part) for part in line.rstrip().split("...")) + r" *\n"

    return re.fullmatch("".join(map(pattern, shown.splitlines())), printed) is not None


@pytest.mark.parametrize(
    ("shown", "right"),
    [
        ("a\nb\nc\n", True),
        ("a\n...\nc\n", True),
        ("...\nc\n", True),
        ("a...\nb\nc\n", True),
        ("a\nc\n", False),
        ("a\nb\n", False),
        ("...\nb\n", False),
    ],
)
def test_output_is_compared_whole(shown: str, right: bool) -> None:
    assert printed_as_shown("a  \nb\nc\n", shown) is right


# Commands


OPERATOR = re.compile(r"[|&;<>]+")
"""An operator of the shell between commands."""


def words_of(line: str) -> list[str]:
    """The words and operators of a shell command."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def command_lines(fence: Fence) -> Iterator[list[str]]:
    """The words of every call of airtoll in a block of shell commands."""
    for line in fence.text.replace("\\\n", " ").splitlines():
        words = words_of(line.removeprefix("$ "))
        while words:
            end = next((at for at, word in enumerate(words) if OPERATOR.fullmatch(word)), len(words))
            if words[:1] == ["airtoll"]:
                yield words[1:end]
            words = words[end + 1 :]


def resolved(words: Sequence[str]) -> tuple[Any, list[str]]:
    """The command that the words call, and its arguments."""
    command, rest = app, list(words)
    while hasattr(command, "list_commands") and rest and not rest[0].startswith("-"):
        _, command, rest = command.resolve_command(click.Context(command), rest)
    return command, rest


def shell_blocks() -> Iterator[Any]:
    for page in (*PAGES, *sorted(generated())):
        for fence in fences(page):
            if fence.language in ("sh", "console", "yaml"):
                text = re.sub(r"^ *(- run:|-) ", "", fence.text, flags=re.MULTILINE)
                for words in command_lines(Fence(fence.language, None, text, fence.line)):
                    name = f"{name_of(page)}:{fence.line} {' '.join(words[:2])}"
                    yield pytest.param(words, id=name)


@pytest.mark.parametrize("words", list(shell_blocks()))
def test_commands_are_accepted(words: list[str]) -> None:
    command, rest = resolved(words)
    if rest == ["--version"]:
        return
    with command.make_context("airtoll", list(rest)):
        pass


@pytest.mark.parametrize("page", [*PAGES, *sorted(generated())], ids=name_of)
def test_commands_in_running_text_exist(page: Path) -> None:
    for text in re.findall(r"`airtoll ([^`]*)`", prose(page).replace("\n", " ")):
        words = re.sub(r"[\[\]|]|\.\.\.", " ", text.replace("\\|", " ")).split()
        if not words or words[0].isupper() or words[0] == "--version":
            continue
        command, rest = resolved(words)
        options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        for word in rest:
            if word.startswith("--"):
                assert word.split("=")[0] in {*options, "--help"}, f"airtoll {text}"


# Files


def toml_blocks() -> Iterator[Any]:
    for page in PAGES:
        for fence in fences(page):
            if fence.language == "toml":
                yield pytest.param(page, fence, id=f"{name_of(page)}:{fence.line}")


@pytest.mark.parametrize(("page", "fence"), list(toml_blocks()))
def test_toml_examples_are_valid(page: Path, fence: Fence, tmp_path: Path) -> None:
    """Studies load and expand, grids and rule files are read, and parts of studies have only existing keys."""
    for other in fences(page):  # a study names a file with figures beside it
        if other.title is not None:
            (tmp_path / other.title).write_text(other.text, encoding="utf-8")
    content = tomllib.loads(fence.text)
    path = tmp_path / (fence.title or "block.toml")
    path.write_text(fence.text, encoding="utf-8")
    if "factors" in content and "method" in content:
        study = load_study(path)
        assert expand(study).runs
        if "quick" in content:
            assert expand(study, quick=True).runs
    elif "grid" in content:
        assert load_grid(path, check_scenario).cells
    elif "rules" in content:
        assert read_rules(path).rules
    else:
        for table, keys in content.items():
            if (table,) in TABLES and isinstance(keys, dict):
                assert set(keys) <= set(TABLES[table,].model_fields)


def test_the_larger_grid_is_as_large_as_the_guide_says() -> None:
    cells = len(load_grid(DOCS / "how-to/sweep-example.toml", check_scenario).cells)
    assert f"larger grid of {cells} cells" in (DOCS / "how-to/run-a-sweep.md").read_text(encoding="utf-8")
