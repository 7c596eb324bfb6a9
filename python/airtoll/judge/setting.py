"""Other differences between two results: method, machines and tools."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from airtoll.judge.figures import Figures
from airtoll.report.material.facts import flatten

UnlikeKind = Literal["method", "environment"]

_PASSING: Final = ("boot_id", "hostname", "memory_bytes")
"""Host facts that do not affect its speed, or change with every boot."""


@dataclass(frozen=True)
class Unlike:
    """One difference, as text. If the runs of a result differ in it, the text lists all their values."""

    kind: UnlikeKind
    name: str
    a: str
    b: str

    def __str__(self) -> str:
        """The difference in one line."""
        return f"{self.name}: {self.a} in A, {self.b} in B"


def unlike(a: Figures, b: Figures) -> list[Unlike]:
    """All differences, method first. A value that a result lacks is an en dash."""
    return [
        *_compared("method", _method(a), _method(b)),
        *_compared("environment", _environment(a), _environment(b)),
    ]


def _compared(kind: UnlikeKind, a: Mapping[str, str], b: Mapping[str, str]) -> Iterable[Unlike]:
    for name in dict.fromkeys((*a, *b)):
        of_a, of_b = (each.get(name, "\N{EN DASH}") for each in (a, b))
        if of_a != of_b:
            yield Unlike(kind, name, of_a, of_b)


def _method(figures: Figures) -> dict[str, str]:
    plan = figures.head.plan
    method = {
        f"method.{name}": value for name, value in flatten(plan.method.model_dump(exclude={"seed"})).items()
    }
    link = {f"link.{name}": value for name, value in flatten(plan.link.model_dump()).items()}
    profiles = {
        f"security.{name}.{key}": value
        for name, profile in plan.profiles.items()
        for key, value in flatten(profile.on(plan.link).model_dump(exclude={"title"})).items()
    }
    return {"quick": "yes" if figures.head.quick else "no", **method, **link, **profiles}


def _environment(figures: Figures) -> dict[str, str]:
    values: dict[str, dict[str, None]] = {}
    seen: set[str] = set()
    for record in figures.records:
        facts: dict[str, Any] = {
            "airtoll": record.versions.airtoll,
            "tools": record.versions.tools,
            "hosts": {role: _lasting(host) for role, host in record.hosts.items()},
        }
        # Runs of one result nearly always have the same facts, which are then processed once.
        if (words := repr(facts)) not in seen:
            seen.add(words)
            for name, value in flatten(facts).items():
                values.setdefault(name, {})[value] = None
    return {name: " and ".join(sorted(each)) for name, each in values.items()}


def _lasting(host: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in host.items() if name not in _PASSING}
