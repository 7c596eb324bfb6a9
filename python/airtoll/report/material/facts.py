"""Facts about machines, tools and link: facts that all runs share, and facts that differ between runs."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from airtoll.report.material import text
from airtoll.report.material.data import ReportData, ReportRun

_HOST = "Host "

FactTexts = Mapping[str, str]
"""Dotted path -> value as text, in the order of recording."""


@dataclass(frozen=True)
class Environment:
    """Facts by title ("Host ap", "Link"): facts that all finished runs share, and the names of differing facts."""

    shared: Mapping[str, FactTexts]
    differing: Mapping[str, Sequence[str]]

    def of_run(self, run: ReportRun) -> Mapping[str, FactTexts]:
        """The facts of the run that are not shared by all runs, and its counters."""
        sections = {
            title: {name: value for name, value in facts.items() if name in self.differing.get(title, ())}
            for title, facts in _sections(run).items()
        }
        counters = flatten(run.record.counters) if run.record else {}
        return {title: facts for title, facts in {**sections, "Counters": counters}.items() if facts}


@lru_cache(maxsize=1)
def environment(data: ReportData) -> Environment:
    """The environment of the finished runs; runs without facts of hosts or link are ignored if others have them."""
    finished = [run for run in data.runs if run.record]
    measured = [run for run in finished if run.record and (run.record.hosts or run.record.link)]
    of_runs = [_sections(run) for run in measured or finished]
    titles = list(dict.fromkeys(title for sections in of_runs for title in sections))
    shared: dict[str, FactTexts] = {}
    differing: dict[str, list[str]] = {}
    for title in titles:
        facts = [sections.get(title, {}) for sections in of_runs]
        names = list(dict.fromkeys(name for one in facts for name in one))
        same = [name for name in names if all(one.get(name) == facts[0].get(name) for one in facts)]
        shared[title] = {name: facts[0][name] for name in same}
        differing[title] = [name for name in names if name not in shared[title]]
    return Environment(_hosts_alike(shared), differing)


def _hosts_alike(shared: dict[str, FactTexts]) -> dict[str, FactTexts]:
    """Merge the sections of hosts with equal facts: namespaces of one machine have the same facts."""
    hosts = [title for title in shared if title.startswith(_HOST)]
    if len(hosts) < 2 or any(shared[title] != shared[hosts[0]] for title in hosts):
        return shared
    together = "Hosts " + ", ".join(title.removeprefix(_HOST) for title in hosts)
    return {
        together if title == hosts[0] else title: shared[title] for title in shared if title not in hosts[1:]
    }


def flatten(facts: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """Flatten nested facts: {"cpu": {"cores": 2}} becomes {"cpu.cores": "2"}."""
    flat: dict[str, str] = {}
    for name, value in facts.items():
        path = f"{above}.{name}" if above else str(name)
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, path)
        else:
            flat[path] = _words(value)
    return flat


def _sections(run: ReportRun) -> dict[str, FactTexts]:
    record = run.record
    if record is None:
        return {}
    return {
        "Versions": flatten(record.versions.model_dump()),
        **{f"{_HOST}{role}": flatten(facts) for role, facts in record.hosts.items()},
        "Link": flatten(record.link),
        **{f"Probe {name}": flatten(facts) for name, facts in record.probes.items()},
    }


def _words(value: Any) -> str:
    if value is None:
        return text.MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, str):
        return value
    if _is_command(value):
        return shlex.join(value)
    return json.dumps(value, ensure_ascii=False)


def _is_command(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and _all_words(value)


def _all_words(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)
