"""The exit status of `airtoll run` says whether the planned comparisons are possible."""

import re
from pathlib import Path

import pytest
from cli_command import SMALL_STUDY, Airtoll, one_line

DEAF = 'rate = ["54 Mbit/s"]\nsnr = ["none", "0 dB"]'
"""At 0 dB nothing arrives at 54 Mbit/s, so these runs are invalid."""


def perform(airtoll: Airtoll, folder: Path, *changes: tuple[str, str]) -> tuple[int, str, str]:
    text = SMALL_STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "small.toml").write_text(text)
    done = airtoll("run", "small.toml", "--lab", "sim", "--out", "result")
    assert done.stdout.splitlines()[-1] == "report: result/report.html"  # written despite the failure
    return done.returncode, done.stdout, one_line(done) if done.stderr else ""


RATE = 'rate = ["54 Mbit/s"]'


def test_all_pairs_are_valid(airtoll: Airtoll, tmp_path: Path) -> None:
    status, _, err = perform(airtoll, tmp_path)
    assert (status, err) == (0, "")


def test_a_comparison_without_pairs_is_named(airtoll: Airtoll, tmp_path: Path) -> None:
    status, out, err = perform(airtoll, tmp_path, (RATE, DEAF))
    assert status == 1
    assert re.search(r"4 of them invalid\n  no sample, 4 runs, such as \d{4}-udp-ipv6-256-\w+: .+\n", out), (
        out
    )
    assert err == "1 of 2 comparisons has fewer than two valid pairs: CCMP UDP IPv6 256 B, SNR 0 dB (0 of 2)"


def test_with_one_level_a_cell_without_a_valid_run_is_named(airtoll: Airtoll, tmp_path: Path) -> None:
    status, _, err = perform(airtoll, tmp_path, (RATE, DEAF), ('["open", "ccmp"]', '["ccmp"]'))
    assert status == 1
    assert err == "1 of 2 cells has no valid run: UDP IPv6 256 B, SNR 0 dB"


@pytest.mark.parametrize("levels", ['["open", "ccmp"]', '["open"]'])
def test_one_replicate_is_enough_where_one_is_planned(airtoll: Airtoll, tmp_path: Path, levels: str) -> None:
    changes = (("repeats = 2", "repeats = 1"), ('["open", "ccmp"]', levels))
    assert perform(airtoll, tmp_path, *changes)[0] == 0
