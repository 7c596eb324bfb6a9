"""`airtoll simulate` and `airtoll model`: one scenario, with its keys as options, answered in tables or JSON."""

import inspect
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import typer

from airtoll.cli.json_output import JsonOption, print_json
from airtoll.cli.tables import NONE, figure, plain_console, plain_table
from airtoll.errors import UsageError
from airtoll.study.factors import FACTORS
from airtoll.study.phys import PHYS
from airtoll.study.quantity import show
from airtoll.study.scenario import Scenario, WordError, read_scenario
from airtoll.study.values import Option

_PANELS: Final = ("PHY", "Security", "Stations", "Traffic", "Access", "Channel", "Run")
"""The panels of `--help` in their order. The declaration of each key names its panel."""

_PLAIN_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def command_of(name: str, settings: dict[str, Any]) -> Any:
    """The command `simulate` or `model`, with one option per key of a scenario."""
    perform = {"simulate": simulate_scenario, "model": model_scenario}[name]
    words = sorted(
        Scenario.model_fields, key=lambda word: (_PANELS.index(_option(word).panel), word not in FACTORS)
    )
    parameters = [parameter for word in words for parameter in _parameters(word)]
    parameters.append(_keyword("as_json", JsonOption, default=False))

    def run(**options: Any) -> None:
        wants_json = options.pop("as_json")
        perform({word: value for word, value in options.items() if value is not None}, wants_json)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False, context_settings=settings)
    made.command(name, help=perform.__doc__)(run)
    return typer.main.get_command(made)


def _option(word: str) -> Option:
    """The declaration of a key as an option."""
    option = Scenario.model_fields[word].json_schema_extra
    assert isinstance(option, Option), word
    return option


def _parameters(word: str) -> Iterator[inspect.Parameter]:
    """The option of a key; --rate is followed by --mcs."""
    field, option = Scenario.model_fields[word], _option(word)
    flag = f"--{word.replace('_', '-')}"
    default = field.get_default()
    kind: Any = bool if option.metavar is None else str
    declared = typer.Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        metavar=option.metavar,
        help=field.description,
        rich_help_panel=option.panel,
        show_default=False if default is None else str(default),
    )
    yield _keyword(word, Annotated[kind | None, declared])
    if word == "rate":
        mcs = typer.Option(
            "--mcs",
            metavar="N",
            help="The same as --rate mcsN.",
            rich_help_panel=option.panel,
            show_default=False,
        )
        yield _keyword("mcs", Annotated[int | None, mcs])


def _keyword(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def scenario_from(options: Mapping[str, Any]) -> Scenario:
    """The scenario described by the options. Raises UsageError that names the invalid option."""
    words = dict(options)
    if (mcs := words.pop("mcs", None)) is not None:
        if "rate" in words:
            raise UsageError("--mcs and --rate are mutually exclusive")
        words["rate"] = f"mcs{mcs}"
    try:
        return read_scenario({word: _value(word, value) for word, value in words.items()})
    except WordError as error:
        option = "mcs" if error.word == "rate" and mcs is not None else error.word.replace("_", "-")
        raise UsageError(f"--{option}: {error.text}") from None


def _value(word: str, text: str | bool) -> Any:
    """The value that a study file would contain: text like a number is a number, text that opens a bracket is TOML."""
    if isinstance(text, bool):
        return text
    if _PLAIN_NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    if text.startswith(("[", "{")):
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            raise WordError(word, f"{show(text)} is not a TOML list or table") from None
    return text


def simulate_scenario(options: dict[str, Any], as_json: bool) -> None:
    """Run one cell in virtual time: throughput, delay, jitter, loss and airtime shares.

    A quantity is a number, optionally with its unit: --duration 2, --duration '500 ms'.
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


def model_scenario(options: dict[str, Any], as_json: bool) -> None:
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
