"""The help lists all commands and options, and says what happens without them."""

import re
from collections.abc import Iterator
from typing import Any

import click
import pytest
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
    panels = re.findall(r"^(\S+):$", shown, re.MULTILINE)
    assert panels == ["Options", "Measure", "Results", "Predict", "Frames", "Network", "Hardware"]
    assert sorted(app.list_commands(click.Context(app))) == sorted(app.commands)


def test_the_shell_completes_commands_and_options(airtoll: Airtoll) -> None:
    def completions(words: str) -> list[str]:
        at = str(len(words.split()) - 1)
        found = airtoll(_AIRTOLL_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=at).stdout
        return [line.removeprefix("plain,") for line in found.splitlines()]

    assert completions("airtoll si") == ["simulate"]
    assert "--bandwidth" in completions("airtoll simulate --band")
    assert completions("airtoll run --res") == ["--resume"]


def bracketed(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every command whose help text has brackets, with that text."""
    below = dict(getattr(command, "commands", {}))
    for name in ("simulate", "model") if not words else ():
        below[name] = command.resolve_command(click.Context(command), [name])[1]
    for described in (command, *command.params):
        if "[" in (text := getattr(described, "help", None) or ""):
            yield words, text
    for name, one in below.items():
        yield from bracketed(one, (*words, name))


def test_brackets_in_help_are_printed(airtoll: Airtoll) -> None:
    texts = list(bracketed(app))
    assert {("run",), ("plan",), ("sweep",)} <= {words for words, _ in texts}
    for words, text in texts:
        shown = airtoll(*words, "--help", COLUMNS="400").stdout
        assert " ".join(text.split()) in " ".join(shown.split()), words
