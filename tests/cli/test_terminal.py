"""Tables are complete in any terminal: without a width, narrow, without UTF-8."""

import os
import subprocess

import pytest
from cli_command import AIRTOLL

CELL = ("simulate", "--phy", "vht", "--security", "ccmp", "--duration", "0.1")


def printed(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [AIRTOLL, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("columns", ["0", "20", "40"])
def test_a_table_in_a_narrow_terminal_has_every_figure(columns: str) -> None:
    def figures(text: str) -> list[str]:
        return [word for word in text.split() if word.replace(".", "").isdigit()]

    assert figures(printed(*CELL, COLUMNS=columns)) == figures(printed(*CELL, COLUMNS="200"))


def test_an_encoding_without_the_signs_of_a_table_gets_similar_ones() -> None:
    signs = printed("model", "--security", "ccmp", LC_ALL="C.UTF-8")
    assert not signs.isascii()
    plain = printed("model", "--security", "ccmp", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", LC_ALL="C")
    assert plain.isascii()
    assert "?" not in plain
