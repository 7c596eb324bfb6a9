"""The HTML page: one self-contained file that works without a network.

The template escapes everything that comes from files. The page's content security policy is a second defence: it
allows only scripts with known hashes and loads nothing.
"""

import base64
import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from airtoll.errors import AirtollError
from airtoll.report.material import facts, text
from airtoll.report.material.data import ReportData, ReportRun
from airtoll.report.material.section import Section
from airtoll.report.pages.colours import colour_names
from airtoll.report.parts import answer, sentences, stability
from airtoll.study.factors import level_order
from airtoll.study.quantity import in_utf8

MAX_RUNS_WITH_FACTS: Final = 500
"""With more runs, the page names the files of the facts instead of including the facts."""

RUNS_PER_PAGE: Final = 100
"""The list of runs has pages with this many rows."""

INVALID_LISTED: Final = 20
"""The section about verdicts lists at most this many invalid runs; the list of runs has all of them."""

_TEMPLATES = Path(__file__).parent / "templates"
_SPACE_BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|(?:B|dB|MHz|Mbit/s|ms|points|s|us)\b)")
_FILTERED = ("transport", "ip", "packet_size", "security")


def html(data: ReportData, sections: Iterable[Section], directory: Path) -> str:
    """The page. Its links to raw files are relative to `directory`, the directory of the page."""
    chapters: dict[str, list[Section]] = {}
    for section in sections:
        chapters.setdefault(section.chapter, []).append(section)
    figures = (figure for of in chapters.values() for section in of for figure in section.figures)
    charts = {chart.id: chart.spec for figure in figures for chart in figure.charts}
    runs = _runs(data, facts.environment(data), directory)
    config = {"charts": charts, "levels": colour_names(data.comparison.levels), "runs": runs}
    scripts = [own("early.js"), *([_bundle()] if charts else []), own("report.js")]
    away = _away(data, directory)
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            data=data,
            findings=answer.find(data),
            lede=sentences.lede(data),
            chapters=chapters,
            runs=runs,
            config=config,
            scripts=scripts,
            policy=_policy(scripts),
            style=own("report.css"),
            sums=_sums_commands(away),
            verify_commands=(f"airtoll verify {away}", f"airtoll report {away}"),
            max_runs_with_facts=MAX_RUNS_WITH_FACTS,
        )
    )


@cache
def _bundle() -> Markup:
    """Vega, Vega-Lite and Vega-Embed as one script; text that would end the script element is escaped."""
    path = _TEMPLATES / "vega.js"
    if not path.is_file():
        raise AirtollError(f"{path} is missing: build airtoll to generate it (make build)")
    source = path.read_text(encoding="utf-8")
    return _verbatim(source.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


def own(name: str) -> Markup:
    """A script or style sheet from the directory of templates."""
    return _verbatim((_TEMPLATES / name).read_text(encoding="utf-8"))


def _verbatim(source: str) -> Markup:
    """A script or style as a browser hashes it: browsers turn CR LF into LF before they compare hashes."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    return Markup(source)  # noqa: S704 - our own files and a library, not input


def _policy(scripts: Sequence[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def environment() -> jinja2.Environment:
    """The templates, with automatic escaping."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = _unbroken
    environment.globals |= {
        "text": text,
        "unstable_because": stability.details,
        "invalid_listed": INVALID_LISTED,
    }
    return environment


def _unbroken(text: str) -> str:
    """The text without line breaks between a number and its unit."""
    return _SPACE_BEFORE_UNIT.sub("\u00a0", text)


def _runs(data: ReportData, surroundings: facts.Environment, directory: Path) -> dict[str, Any]:
    """The list of runs for `report.js`. Runs name their cell and their list of files by an index."""
    metrics = data.recorded_metrics
    with_facts = len(data.runs) <= MAX_RUNS_WITH_FACTS
    away = relative(data, directory)
    cells = list(dict.fromkeys(run.run.cell for run in data.runs))
    files = list(dict.fromkeys(_names(run) for run in data.runs))
    place_of_cell, place_of_files = ({one: at for at, one in enumerate(each)} for each in (cells, files))
    filters = _filters(data)
    rows = []
    for run in data.runs:
        record = run.record
        rows.append(
            {
                "id": run.run.id,
                "cell": place_of_cell[run.run.cell],
                "block": run.run.block,
                "state": run.state,
                "values": [
                    text.number(metric.display(run.values[metric.name]), metric.decimals)
                    if metric.name in run.values
                    else text.MISSING
                    for metric in metrics
                ],
            }
        )
        if record is not None:
            rows[-1] |= {
                "run": [
                    *([["session", run.run.session]] if run.run.session else []),
                    ["replicate", f"{run.run.replicate}{' (discarded)' if run.run.discard else ''}"],
                    ["seed", str(run.run.seed)],
                    ["started", record.started.isoformat()],
                    ["finished", record.finished.isoformat()],
                ],
                "files": place_of_files[_names(run)],
                **({"reasons": run.outcome.reasons} if run.outcome.reasons else {}),
                **({"facts": dict(surroundings.of_run(run))} if with_facts else {}),
            }
    return {
        "per_page": RUNS_PER_PAGE,
        "base": "./" if away == "." else quote(os.fsencode(f"./{away}/")),
        "metrics": [f"{metric.title}, {metric.display_unit}" for metric in metrics],
        "filters": filters,
        "cells": [
            {
                "flow": data.flow(cell),
                "level": text.level(cell.security),
                "factors": {
                    name: str(getattr(cell, name)) for each in filters if (name := each["name"]) != "state"
                },
            }
            for cell in cells
        ],
        "files": files,
        "rows": rows,
    }


def _names(run: ReportRun) -> tuple[str, ...]:
    """The files of a run, relative to its directory."""
    return tuple(file.removeprefix(f"runs/{run.run.id}/") for file in run.files)


def _filters(data: ReportData) -> list[dict[str, Any]]:
    """The factors that can filter the list of runs, with their levels."""
    levels: dict[str, dict[str, str]] = {}
    for name in (*_FILTERED, *data.varying):
        if name in data.fixed:
            continue
        present = {getattr(run.run.cell, name) for run in data.runs}
        ordered = (
            [v for v in data.compared.levels if v in present]
            if name == "security"
            else sorted(present, key=level_order)
        )
        levels[name] = {str(value): text.factor(name, value) for value in ordered}
    states = sorted({run.state for run in data.runs})
    names = [{"name": name, "title": name.replace("_", " "), "levels": of} for name, of in levels.items()]
    if len(states) > 1:
        names.append({"name": "state", "title": "state", "levels": {state: state for state in states}})
    return names


def relative(data: ReportData, directory: Path) -> str:
    """The result's directory relative to the report."""
    return Path(os.path.relpath(data.directory.resolve(), directory.resolve())).as_posix()


def _away(data: ReportData, directory: Path) -> str:
    """The result's directory relative to the report, quoted for a shell."""
    return shlex.quote(in_utf8(relative(data, directory)))


def _sums_commands(away: str) -> tuple[str, ...]:
    """Shell commands that check the record without airtoll, to be run in the directory of the report."""
    enter = () if away == "." else (f"cd {away}",)
    return (
        *enter,
        "sha256sum -c SHA256SUMS",
        'for run in runs/*/; do (cd "$run" && sha256sum -c --quiet SHA256SUMS) || echo "$run differs"; done',
    )
