"""`airtoll simulate` and `airtoll model`: one scenario, with its keys as options, answered in tables or JSON."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

import click

from airtoll.cli.json_output import json_option, print_json
from airtoll.cli.tables import NONE, figure, plain_console, plain_table
from airtoll.errors import UsageError
from airtoll.study.factors import FACTORS
from airtoll.study.phys import PHYS
from airtoll.study.quantity import plain_number, show
from airtoll.study.scenario import Scenario, WordError, read_scenario, unused
from airtoll.study.security import READY_MADE
from airtoll.study.values import Option

_PANELS: Final = ("PHY", "Security", "Stations", "Traffic", "Access", "Channel", "Run")
"""The panels of `--help` after the common options. The declaration of each key names its panel."""


class _KeyOption(click.Option):
    """The option of a key."""

    def __init__(self, names: list[str], panel: str, **settings: Any) -> None:
        super().__init__(names, **settings)
        self.panel = panel


class _ScenarioCommand(click.Command):
    """A command with one option per key of a scenario, in panels."""

    def __init__(self, name: str, params: list[click.Parameter], **settings: Any) -> None:
        words = sorted(
            Scenario.model_fields,
            key=lambda word: (_PANELS.index(_declared(word).panel), word not in FACTORS),
        )
        super().__init__(name, params=[*chain.from_iterable(map(_options, words)), *params], **settings)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by panel."""
        params = self.get_params(ctx)
        for panel in ("Options", *_PANELS):
            with formatter.section(panel):
                found = [each for each in params if getattr(each, "panel", "Options") == panel]
                formatter.write_dl([record for each in found if (record := each.get_help_record(ctx))])


def _declared(word: str) -> Option:
    """The declaration of a key as an option."""
    option = Scenario.model_fields[word].json_schema_extra
    assert isinstance(option, Option), word
    return option


def _options(word: str) -> Iterator[click.Option]:
    """The option of a key; --rate is followed by --mcs."""
    field, declared = Scenario.model_fields[word], _declared(word)
    name = word.replace("_", "-")
    default = field.get_default()
    yield _KeyOption(
        [f"--{name}/--no-{name}" if declared.metavar is None else f"--{name}"],
        declared.panel,
        default=None,
        metavar=declared.metavar,
        help=field.description,
        show_default=False if default is None else str(default),
    )
    if word == "rate":
        yield _KeyOption(["--mcs"], declared.panel, type=int, metavar="N", help="The same as --rate mcsN.")


def scenario_from(options: Mapping[str, Any]) -> Scenario:
    """The scenario described by the options. Raises UsageError that names the invalid option."""
    words = {word: value for word, value in options.items() if value is not None}
    if (mcs := words.pop("mcs", None)) is not None:
        if "rate" in words:
            raise UsageError("--mcs and --rate are mutually exclusive")
        words["rate"] = f"mcs{mcs}"
    try:
        scenario = read_scenario({word: _value(word, value) for word, value in words.items()})
        for word, text in unused(scenario, words):
            raise WordError(word, text)
    except WordError as error:
        option = "mcs" if error.word == "rate" and mcs is not None else error.word.replace("_", "-")
        raise UsageError(f"--{option}: {error.text}") from None
    profile = READY_MADE[scenario.security]
    for word, value in profile.of_link().items():
        if word in words and getattr(scenario, word) != value:
            option = word.replace("_", "-")
            raise UsageError(f"--{option}: security '{scenario.security}' has {profile.words()}")
    return scenario


def _value(word: str, text: str | bool) -> Any:
    """The value that a study file would contain: text like a number is a number, text that opens a bracket is TOML."""
    if isinstance(text, bool):
        return text
    if text.startswith(("[", "{")):
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            raise WordError(word, f"{show(text)} is not a TOML list or table") from None
    return plain_number(text)


@click.command("simulate", cls=_ScenarioCommand)
@json_option
def simulate_scenario(as_json: bool, **options: Any) -> None:
    """Run one cell in virtual time: throughput, delay, jitter, loss and airtime shares.

    A quantity is a number, optionally with its unit: --duration 2, --duration '500 ms'. An option that has no effect
    beside the others is an error.
    """
    scenario = scenario_from(options)  # reports invalid options before the simulator is imported
    from airtoll.labs.sim import simulate

    answer = simulate(scenario)
    if as_json:
        _print_json(answer.scenario, answer.values)
        return
    console = plain_console()
    values = answer.values
    console.print(_summary(scenario), soft_wrap=True)
    if scenario.security != "open":
        console.print(
            "One run: other seeds draw other backoffs. `airtoll model` gives the cost of security over several seeds.",
            soft_wrap=True,
        )
    console.print(plain_table((), _measures(values)))
    delays = {name: values.get(key) for name, key in (("delay", "delay_ms"), ("round trip", "rtt_ms"))}
    marks = ("mean", "p50", "p95", "p99", "max")
    rows = [
        (name, *(figure(of.get(mark)) for mark in marks))
        for name, of in delays.items()
        if isinstance(of, dict)
    ]
    if rows:
        console.print(plain_table(("ms", *marks), rows))
    if airtime := values.get("airtime"):
        shares = [(_words(name), _percent(share)) for name, share in airtime.items()]
        console.print(plain_table(("airtime", "%"), shares))
    each = values.get("stations") or []
    if len(each) > 1:
        columns = list(dict.fromkeys(name for one in each for name, value in one.items() if _scalar(value)))
        console.print(
            plain_table(
                ("station", *map(_words, columns)),
                [
                    (str(number), *(figure(one.get(name)) for name in columns))
                    for number, one in enumerate(each, start=1)
                ],
            )
        )


@click.command("model", cls=_ScenarioCommand)
@json_option
def model_scenario(as_json: bool, **options: Any) -> None:
    """Predict one cell by closed forms, with the cost of its security, the causes of that cost and alternatives.

    Closed forms: a single station, Bianchi's fixed point. Costs and alternatives are predicted in virtual time.
    """
    scenario = scenario_from(options)
    from airtoll.cli.cost import cost_of
    from airtoll.labs.sim import closed_forms

    answer, cost = closed_forms(scenario), cost_of(scenario)
    if as_json:
        _print_json(answer.scenario, answer.values | (cost.to_json() if cost else {}))
        return
    console = plain_console()
    console.print(_summary(scenario), soft_wrap=True)
    if cost is not None:
        cost.print_answer(console, scenario.security)
    console.print(
        "Closed forms: expected values of a saturated channel, without the random backoffs, queues, TCP and hosts of a "
        "simulation:",
        soft_wrap=True,
    )
    models = {name: _flat(of) for name, of in answer.values.items() if isinstance(of, dict)}
    figures = list(dict.fromkeys(name for of in models.values() for name in of))
    rows = [(_words(name), *(figure(of.get(name)) for of in models.values())) for name in figures]
    console.print(plain_table(("", *map(_words, models)), rows))
    for name, value in answer.values.items():
        if not isinstance(value, dict):  # a model that does not apply, or a remark
            console.print(f"{_words(name)}: {figure(value)}", soft_wrap=True)
    if cost is not None:
        cost.print(console)


def _print_json(scenario: str, values: dict[str, Any]) -> None:
    print_json({"scenario": json.loads(scenario), **values})


def _summary(scenario: Scenario) -> str:
    """The scenario in one line."""
    words = scenario.wire()
    width = f"{scenario.bandwidth} MHz, {scenario.streams} x" if PHYS[scenario.phy].has_mcs else ""
    stations = f"{scenario.stations} station{'s' if scenario.stations > 1 else ''}"
    return (
        f"{scenario.phy} {words['rate']}{f' ({width})' if width else ''}, {scenario.security}, {stations}, "
        f"{words['topology']}, {scenario.transport} {scenario.ip} {scenario.packet_size} B {scenario.direction}, "
        f"{words['traffic']}, {scenario.duration:g} s, seed {scenario.seed}"
    )


def _measures(values: Mapping[str, Any]) -> list[tuple[str, ...]]:
    loss = values.get("loss")
    rows = [
        ("throughput", figure(values.get("throughput_mbps")), "Mbit/s of payload"),
        ("jitter", figure(values.get("jitter_ms")), "ms (RFC 3550)"),
        ("loss", _percent(loss), "%"),
    ]
    return [row for row in rows if row[1] != NONE]


def _flat(of: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in of.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{above}{name} ")
        else:
            flat[f"{above}{name}"] = value
    return flat


def _scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _percent(share: Any) -> str:
    return NONE if share is None else f"{100 * share:.2f}"
