"""A name of an earlier version is refused in one line that says what became of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import TypeAdapter, ValidationError

from airtoll import cli
from airtoll.errors import UsageError
from airtoll.judge import parse_rule
from airtoll.stats import FORMER_METRICS
from airtoll.store.importers import given_level
from airtoll.study import factors, load_study
from airtoll.study.cell import ProbeName
from airtoll.study.factors import FORMER_FACTORS
from airtoll.study.levels import check_factor
from airtoll.study.link import LinkSettings
from airtoll.study.probes import FORMER_PROBES
from airtoll.study.scenario import Scenario, WordError, read_scenario
from airtoll.study.values import fate_of, name_of, renamed, renamed_to
from airtoll.sweep.grid import load_grid

STUDY = """
title = "Small"
[factors]
security = ["open"]
transport = ["udp"]
ip = ["ipv6"]
packet_size = ["256 B"]
phy = ["ofdm"]
rate = ["54 Mbit/s"]
[method]
repeats = 1
duration = "1 s"
"""

Refused = Callable[[str], str]


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    """The error of a study file with this text."""

    def error(text: str) -> str:
        path = tmp_path / "study.toml"
        path.write_text(text)
        with pytest.raises(UsageError) as raised:
            load_study(path)
        return str(raised.value).removeprefix(f"{path}: ")

    return error


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """The error of a call of airtoll with these arguments."""

    def error(arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["airtoll", *arguments.split()])
        with pytest.raises(SystemExit) as raised:
            cli.main()
        assert raised.value.code == 2
        return capsys.readouterr().err.rstrip()

    return error


def test_a_sentence_about_a_former_name() -> None:
    former = renamed("rts_threshold", ("rts", "rts_limit"))
    assert fate_of("rts", former) == "'rts' was renamed to 'rts_threshold'"
    assert fate_of("cts", former) is None
    assert fate_of(["rts"], former) is None


def test_keys_of_a_study(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = "link.dtim_period: 'dtim_period' was removed: it had no effect on any measurement"
    assert refused(f"{STUDY}[link]\ndtim_period = 1\n") == removed
    moved = "link.offered: 'offered' is a factor now: write it in [factors]"
    assert refused(f"{STUDY}[link]\noffered = 4\n") == moved
    monkeypatch.setattr(LinkSettings, "FORMER", renamed("rts_threshold", ("rts",)))
    assert refused(f"{STUDY}[link]\nrts = 1\n") == "link.rts: 'rts' was renamed to 'rts_threshold'"


def test_factors_in_studies_rules_and_imports(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMER_FACTORS, "width", renamed_to("bandwidth"))
    sentence = "'width' was renamed to 'bandwidth'"
    wide = STUDY.replace("[method]", "width = [20]\n[method]")
    assert refused(wide) == f"factors.width: {sentence}"
    assert sentence in refused(f"{STUDY}[quick.factors]\nwidth = [20]\n")
    with pytest.raises(ValueError, match=sentence):
        check_factor("width")
    with pytest.raises(UsageError, match=sentence):
        parse_rule("loss <= 1 % where width=20")
    with pytest.raises(UsageError, match=sentence):
        given_level("width=20", "--level")


def test_levels() -> None:
    level = Annotated[str, *name_of(Literal["open", "ccmp"], renamed("ccmp", ("wpa2",)))]
    adapter: TypeAdapter[str] = TypeAdapter(level)
    with pytest.raises(ValidationError, match="'wpa2' was renamed to 'ccmp'"):
        adapter.validate_python("wpa2")
    assert adapter.validate_python("ccmp") == "ccmp"


def test_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMER_PROBES, "ping", renamed_to("rtt"))
    with pytest.raises(ValidationError, match="'ping' was renamed to 'rtt'"):
        TypeAdapter(ProbeName).validate_python("ping")


def test_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMER_METRICS, "goodput", renamed_to("throughput"))
    with pytest.raises(UsageError, match="column 6: 'goodput' was renamed to 'throughput'"):
        parse_rule("cost(goodput) <= 3 %")


def test_keys_and_options_of_a_scenario(
    tmp_path: Path, command: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WordError, match="dtim_period: 'dtim_period' was removed"):
        read_scenario({"dtim_period": 1})
    grid = tmp_path / "grid.toml"
    grid.write_text("dtim_period = 1\n")
    with pytest.raises(UsageError, match="'dtim_period' was removed"):
        load_grid(grid, lambda _: None)
    monkeypatch.setattr(Scenario, "FORMER", renamed("rts_threshold", ("rts",)))
    assert command("model --rts 5") == (
        "airtoll: --rts was renamed to --rts-threshold; see airtoll model --help"
    )


def test_options(command: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli._FORMER_OPTIONS, "rtl report", {"--from": "was renamed to --results"})
    assert command("rtl report --from x") == (
        "airtoll: --from was renamed to --results; see airtoll rtl report --help"
    )


def test_no_former_name_is_in_use() -> None:
    assert not FORMER_FACTORS.keys() & factors.FACTORS.keys()
    assert not Scenario.FORMER.keys() & Scenario.model_fields.keys()
    assert not LinkSettings.FORMER.keys() & LinkSettings.model_fields.keys()
