"""The help lists all commands and options, and says what happens without them."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from cli_command import Airtoll

from airtoll.cli import app


@pytest.mark.parametrize(
    ("command", "default"),
    [
        ("run", "results/STUDY-TIME"),
        ("report", "the result directory"),
        ("decrypt", "NAME-dec.pcap beside CAPTURE"),
        ("ciphers", "the fastest"),
        ("sweep", "results/GRID-TIME.parquet"),
    ],
)
def test_the_default_of_an_option_is_shown(airtoll: Airtoll, command: str, default: str) -> None:
    assert f"[default: ({default})]" in airtoll(command, "--help").stdout


def test_the_commands_are_listed_by_panel_in_the_order_of_the_work(airtoll: Airtoll) -> None:
    shown = airtoll("--help", COLUMNS="100").stdout
    panels = [line.split()[1] for line in shown.splitlines() if line.startswith("╭─")]
    assert panels == ["Options", "Measure", "Results", "Predict", "Frames", "Network", "Hardware"]
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    assert sorted(group.list_commands(typer.Context(group))) == sorted(group.commands)


def test_the_shell_completes_commands_and_options(airtoll: Airtoll) -> None:
    def completions(words: str) -> list[str]:
        at = str(len(words.split()) - 1)
        return airtoll(_AIRTOLL_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=at).stdout.splitlines()

    assert completions("airtoll si") == ["simulate"]
    assert "--bandwidth" in completions("airtoll simulate --band")
    assert completions("airtoll run --res") == ["--resume"]


def bracketed(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every command whose help text has brackets, with that text."""
    below = dict(getattr(command, "commands", {}))
    for name in ("simulate", "model") if not words else ():
        below[name] = command.resolve_command(typer.Context(command), [name])[1]
    for described in (command, *command.params):
        if "[" in (text := getattr(described, "help", None) or ""):
            yield words, text.replace("\\[", "[")
    for name, one in below.items():
        yield from bracketed(one, (*words, name))


def test_brackets_in_help_are_printed(airtoll: Airtoll) -> None:
    texts = list(bracketed(typer.main.get_command(app)))
    assert {("run",), ("plan",), ("sweep",)} <= {words for words, _ in texts}
    for words, text in texts:
        shown = airtoll(*words, "--help", COLUMNS="400").stdout
        assert " ".join(text.split()) in " ".join(shown.split()), words
