"""Generate the reference pages of the documentation from the code that they describe.

`mkdocs build` calls `pages` through `tools/site_hooks.py`, so the pages are never stored and cannot become outdated:

- the command line, from the commands of `airtoll.cli`
- the keys of a study file, from its JSON Schema
- the metrics, from their declarations in `airtoll.stats`
- the files that airtoll imports, from the declarations of their formats
- the Rust crates, from the first paragraph of each crate's documentation
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click

from airtoll.cli import app
from airtoll.stats.metrics import METRICS, Metric
from airtoll.store.importers import FORMATS
from airtoll.study import json_schema

ROOT = Path(__file__).parents[1]
COMMAND = "airtoll"


@cache
def pages() -> dict[str, str]:
    """The generated pages in Markdown, by their paths below `docs/`."""
    makers: dict[str, Callable[[], str]] = {
        "reference/command-line.md": command_line,
        "reference/study-keys.md": study_keys,
        "reference/metrics.md": metrics,
        "reference/imported-files.md": imported_files,
        "reference/rust.md": rust,
    }
    return {path: make() for path, make in makers.items()}


def command_line() -> str:
    """The page of all commands: usage, help, arguments and options, in the order and the panels of `--help`."""
    parts = [
        "# Command line",
        f"Every command prints its own help: `{COMMAND} COMMAND --help`. Unless a command says otherwise, its exit "
        "status is 0 if it succeeded, 1 if something failed and 2 if the request is invalid.",
        "## JSON output",
        "With `--json`, a command prints one JSON document on standard output and nothing else there. Progress and "
        "errors go to standard error, and the exit status is the same as without `--json`. A number is in the unit "
        "that its key names (`estimate_s`), or in the unit that `unit` beside it names. Levels of factors are in the "
        "units of [the result directory](data-format.md). A missing value is `null`. `sweep --json` differs: it "
        "writes the table to a file.",
        _table(("command", "JSON"), _JSON),
    ]
    first = {names[0]: panel for panel, names in app.panels.items()}
    for words, command in commands():
        if len(words) == 2 and words[1] in first:
            parts.append(f"## {first[words[1]]}")
        if words[1:]:
            parts += [f"### {' '.join(words)}", *_described(words, command)]
    return _joined(parts)


_JSON = (
    (
        "`doctor`",
        "`ready`: whether the quickstart can run; `findings`: `subject`, `works`, `needed`, `words`",
    ),
    ("`studies`", "list of studies: `study`, `runs`, `title`, `file`"),
    (
        "`plan`",
        "counts of the plan, `estimate_s` in real time and `estimate_in_guests_s` in guests (`null` if the study "
        "cannot use this clock), and `runs` as in plan.json",
    ),
    ("`run`", "one element of `reports` below; progress goes to standard error"),
    (
        "`report`",
        "`reports`: counts in `runs`, `invalid_runs`, `cells` with the columns of cells.csv, paths in `files`; `index`",
    ),
    ("`verify`", "`problems`; without problems, counts in `runs`"),
    ("`import`", "`runs`: `id`, `file`, `test` (its number in the file), `discarded`, `valid`, `reasons`"),
    (
        "`metrics`",
        "list of the OpenMetrics families: `name`, `unit`, `help`, `samples` with `labels` and `value`",
    ),
    (
        "`compare`",
        "`differences` of all cells and metrics, with `unit`; cells of only one result; unlike methods",
    ),
    ("`gate`", "list of rules: `rule`, `passed`, `state`, and all `cells` with `value` in `unit`"),
    ("`simulate`, `model`", "`scenario` with all its settings, and the answer"),
    ("`decrypt`", "counts of frames by outcome; `stations` if handshakes are required"),
    ("`ciphers`", "`host` and `measurements`"),
    ("`studies published`", "the publication with `points`, `implied` points and `findings`"),
    ("`link status`", "the status of the link, also without `--json`"),
    ("`rtl report`", "list with one object per design and part"),
)
"""The content of each command's JSON output."""


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it, the program itself first; a group comes before its commands."""
    yield from _below((COMMAND,), app)


def _below(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    if not hasattr(command, "list_commands"):
        return
    context = click.Context(command, info_name=words[-1])
    for name in command.list_commands(context):
        below = command.resolve_command(context, [name])[1]  # loads the options of some commands
        yield from _below((*words, name), below)


def _described(words: Sequence[str], command: Any) -> list[str]:
    context = click.Context(command, info_name=" ".join(words))
    usage = " ".join([*words, *command.collect_usage_pieces(context)])
    parts = [_plain(command.help), f"```text\n{usage}\n```"]
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    if arguments:
        described = [(_code(each.metavar), _plain(each.help)) for each in arguments]
        parts.append(_table(("argument", "meaning"), described))
    options = [each for each in command.params if isinstance(each, click.Option)]
    for panel in dict.fromkeys(map(_panel, options)):
        parts += [f"**{panel}**"] if panel else []
        rows = [_option_row(each) for each in options if _panel(each) == panel]
        parts.append(_table(("option", "default", "meaning"), rows))
    return parts


def _option_row(option: click.Option) -> tuple[str, str, str]:
    names = " / ".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" {option.metavar}"
    return _code(f"{names}{value}"), _default(option), _plain(option.help)


def _default(option: click.Option) -> str:
    """The default of an option; empty for a switch that is off."""
    if isinstance(option.show_default, str):
        return option.show_default
    if option.required:
        return "required"
    return _code(option.default) if option.show_default else ""


def _panel(option: click.Option) -> str:
    return getattr(option, "panel", "")


def study_keys() -> str:
    """The page of all keys of a study file, one section per table."""
    schema = json_schema()
    parts = [
        "# Study keys",
        "Every key of a study file, with its type, default and meaning. [Study files](study-files.md) explains how the "
        "keys work together, and [study.schema.json](study.schema.json) is the same list as a JSON Schema for editors. "
        "A default of “unset” leaves the choice to the lab.",
    ]
    for path, table in _tables(schema, (), schema):
        parts.append(f"## [{'.'.join(path)}]" if path else "## Top level")
        if path:
            parts.append(_plain(table.get("description")))
        rows = [
            (_code(name), _values(key), _key_default(name, key, table), _plain(key.get("description")))
            for name, key in table["properties"].items()
            if _table_of(key) is None
        ]
        parts.append(_table(("key", "value", "default", "meaning"), rows))
    return _joined(parts)


def _tables(
    schema: dict[str, Any], path: tuple[str, ...], table: dict[str, Any]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    yield path, table
    for name, key in table["properties"].items():
        if (found := _table_of(key)) is not None:
            reference, below = found
            yield from _tables(schema, (*path, name, *below), schema["$defs"][reference])


def _table_of(key: dict[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    """The definition of a key that is a table or contains tables with user-chosen names; None for a value."""
    for choice in (key, *key.get("anyOf", ())):
        if "$ref" in choice:
            return choice["$ref"].rsplit("/", 1)[1], ()
    if "$ref" in key.get("items", {}):
        return key["items"]["$ref"].rsplit("/", 1)[1], ()
    for below in key.get("patternProperties", {}).values():
        if "$ref" in below:
            return below["$ref"].rsplit("/", 1)[1], ("NAME",)
    return None


_TYPES = {
    "string": "text",
    "boolean": "`true` or `false`",
    "integer": "whole number",
    "number": "number",
    "object": "table",
}


def _values(key: dict[str, Any]) -> str:
    """The values that a key may have, in words."""
    if "anyOf" in key:
        return " or ".join(_values(choice) for choice in key["anyOf"])
    if key.get("type") == "array":
        return f"list of: {_values(key['items'])}"
    if "const" in key or "enum" in key:
        named = key.get("enum", [key.get("const")])
        return ", ".join(_shortened([each for each in named if isinstance(each, str)] or named))
    if "pattern" in key:
        units = re.search(r"\(([^()]+)\)\$$", key["pattern"])
        return (
            f"text with a unit: {', '.join(map(_code, units[1].split('|')))}"
            if units
            else "a name in lower case"
        )
    within = f" from {key['minimum']} to {key['maximum']}" if "minimum" in key and "maximum" in key else ""
    return _TYPES[key["type"]] + within


def _shortened(words: Sequence[object]) -> Iterator[str]:
    """The words as code; a long numbered series (`mcs0`, `mcs1`, ...) becomes its first and last word."""
    series: list[str] = []
    for word in [*map(str, words), ""]:
        stem, number = re.fullmatch(r"(.*?)(\d*)", word, re.DOTALL).groups()  # type: ignore[union-attr]
        if series and number and stem and f"{stem}{int(number) - 1}" == series[-1]:
            series.append(word)
            continue
        if len(series) > 3:
            yield f"{_code(series[0])} to {_code(series[-1])}"
        else:
            yield from map(_code, series)
        series = [word]


def _key_default(name: str, key: dict[str, Any], table: dict[str, Any]) -> str:
    if name in table.get("required", ()):
        return "required"
    default = key.get("default")
    if default is None:
        return "unset"
    values = default if isinstance(default, list) else [default]
    return ", ".join(_code(value) for value in values) if default != "" else "empty"


def metrics() -> str:
    """The page of all metrics: unit, direction and definition."""
    parts = [
        "# Metrics",
        "A run has one number per metric, computed from its samples. Reports, tables and `airtoll compare` show that "
        "number in the unit of the second column; `samples.parquet` and JSON use the unit of the third. Brief tables "
        "show the metrics in bold, full tables show all. [The result directory](data-format.md) describes the samples.",
        _table(
            ("metric", "shown in", "recorded in", "better", "probes", "definition"),
            [_metric_row(metric) for metric in METRICS.values()],
        ),
    ]
    return _joined(parts)


def _metric_row(metric: Metric) -> tuple[str, ...]:
    name = f"**{_code(metric.name)}**" if metric.main else _code(metric.name)
    definition = f"{metric.title}: {metric.definition}."
    probes = ", ".join(map(_code, metric.probes)) or "imported only"
    return name, metric.display_unit, metric.unit, metric.better, probes, _plain(definition)


def imported_files() -> str:
    """The page of the files that `airtoll import` reads."""
    return _joined(
        [
            "# Imported files",
            "`airtoll import` recognises the format of a file by its content, under any name. A file may be compressed "
            "by gzip or bzip2. Text may be UTF-8, UTF-16 with a byte order mark (as PowerShell writes it) or an 8-bit "
            "code page. [Import results of other tools](../how-to/import-results.md) explains how the data becomes a "
            "result.",
            _table(
                ("tool", "files", "imported data"),
                [(each.tool, each.files, each.imported) for each in FORMATS],
            ),
        ]
    )


def rust() -> str:
    """The page that names the Rust crates and says how to read their API."""
    rows = [
        (_code(path.parents[1].name), _plain(_first_paragraph(path)))
        for path in sorted((ROOT / "crates").glob("*/src/lib.rs"))
    ]
    return _joined(
        [
            "# Rust crates",
            "The cores are Rust crates. `cargo doc` writes their API reference from the sources and opens it in a "
            "browser:",
            "```sh\ncargo doc --workspace --no-deps --open\n```",
            "The page of each crate begins with its architecture. [Architecture](../explanation/architecture.md) shows "
            "how the crates depend on each other.",
            _table(("crate", "what it is"), rows),
        ]
    )


def _first_paragraph(path: Path) -> str:
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//! "):
            break
        lines.append(line.removeprefix("//! "))
    return re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", " ".join(lines))


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`".replace("|", r"\|")


def _plain(text: str | None) -> str:
    """Help text as Markdown: same paragraphs, table and HTML characters escaped."""
    paragraphs = re.split(r"\n\s*\n", cleandoc(text or ""))
    joined = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    return joined.replace("|", r"\|").replace("<", "&lt;")
