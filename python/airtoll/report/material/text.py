"""Numbers, intervals and factor levels as text."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from airtoll.stats import Interval
from airtoll.study.cell import Cell
from airtoll.study.factors import FACTORS, SECURITY

MISSING = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"

IN_FLOW = ("transport", "ip", "packet_size")
"""The factors that name a flow; other factors are named only if they vary."""


def level(security: str) -> str:
    """A security level in the spelling of the standard."""
    return SECURITY.phrase_of(security)


def factor(name: str, value: Any) -> str:
    """One level of a factor, with its unit; `name` may be the lab."""
    return FACTORS[name].phrase_of(value) if name in FACTORS else f"{name} {value}"


def flow(cell: Cell, varying: Iterable[str] = (), naming: Iterable[str] = IN_FLOW) -> str:
    """A cell without its security: "UDP IPv4 1408 B", followed by the other factors that vary, with commas."""
    name = " ".join(factor(each, getattr(cell, each)) for each in naming)
    return ", ".join(
        part for part in (name, *(factor(each, getattr(cell, each)) for each in varying)) if part
    )


def number(value: float | None, decimals: int, *, sign: bool = False) -> str:
    """A number with `decimals` digits after the point; never "-0.00"."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else f"{MINUS}\N{INFINITY}"
    rounded = round(value, decimals) + 0.0
    return f"{rounded:{'+' if sign and rounded else ''}.{decimals}f}".replace("-", MINUS)


def interval(ci: Interval | None, decimals: int, *, sign: bool = False) -> str:
    """An interval as "[low, high]"; empty if it is unknown."""
    if ci is None:
        return ""
    return f"[{number(ci.low, decimals, sign=sign)}, {number(ci.high, decimals, sign=sign)}]"


def joined(*parts: str) -> str:
    """The non-empty parts, separated by spaces."""
    return " ".join(part for part in parts if part)


def counted(n: int, noun: str) -> str:
    """A count and its noun: "1 run", "3 runs"."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def listing(parts: Iterable[str], last: str = "and") -> str:
    """The parts as a list in a sentence: "a, b and c"; "a, 1 lane; b and c" if a part has a comma."""
    *first, end = list(parts) or [MISSING]
    between = "; " if any("," in part.partition("(")[0] for part in first) else ", "
    return f"{between.join(first)} {last} {end}" if first else end


_COUNT = re.compile(r"([0-9]+) ([a-z]+?)s?")


def levels(securities: Iterable[str], last: str = "and") -> str:
    """Security levels as a list in a sentence, with variants of a scheme together: "Enhanced CCMP (1 and 2 lanes)"."""
    variants: dict[str, list[str]] = {}
    for security in securities:
        scheme, _, variant = level(security).partition(", ")
        variants.setdefault(scheme, []).append(variant)
    parts = []
    for scheme, found in variants.items():
        counts = [match for variant in found if (match := _COUNT.fullmatch(variant))]
        if len(counts) == len(found) > 1 and len({match[2] for match in counts}) == 1:
            parts.append(f"{scheme} ({listing(match[1] for match in counts)} {counts[0][2]}s)")
        else:
            parts += [f"{scheme} ({variant})" if variant else scheme for variant in found]
    return listing(parts, last)


_LARGEST_PERCENT = 9999
"""The interval of two very different pairs may end at millions of percent; such digits mean nothing."""


def percent(value: float | None, decimals: int = 2, *, sign: bool = True) -> str:
    """A percentage without the percent sign: fewer digits if it is large, a bound if it exceeds `_LARGEST_PERCENT`."""
    if value is None or abs(value) < 100 or math.isnan(value):
        return number(value, decimals, sign=sign)
    return f"> {_LARGEST_PERCENT}" if value > _LARGEST_PERCENT else number(value, 0, sign=sign)


def percent_interval(ci: Interval | None, *, sign: bool = True) -> str:
    """An interval of percentages; empty if it is unknown."""
    return "" if ci is None else f"[{percent(ci.low, sign=sign)}, {percent(ci.high, sign=sign)}]"


def signed_percent(value: float | None, decimals: int = 2) -> str:
    """A change in percent: "+1.25 %"."""
    return MISSING if value is None else f"{percent(value, decimals)} %"


def within(title: str) -> str:
    """A title within a sentence: "round-trip time", but "FTP transfer rate"."""
    return title if title[1:2].isupper() else title[0].lower() + title[1:]


def p_value(p: float | None, ci95: Interval | None) -> str:
    """A p-value with two digits; a bound if it is very small; "exact" for a mean without spread."""
    if p is None:
        return MISSING if ci95 is None else "exact"
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def natural(words: str) -> list[tuple[float, str]]:
    """A sort key that orders numbers in text by value: "128 B" before "1408 B", "mcs9" before "mcs10"."""
    parts = re.split(r"([0-9]+(?:\.[0-9]+)?)", words)
    return [(float(part), "") if place % 2 else (0.0, part) for place, part in enumerate(parts)]


def reasons(counts: Mapping[Any, int]) -> str:
    """Counts by reason: "2 invalid, 1 discarded"."""
    return ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
