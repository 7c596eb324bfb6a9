"""Interval arithmetic on printed numbers: the intervals that their rounding allows."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import Literal

from airtoll.published.publication import Convention, Operand, Point
from airtoll.published.words import METRICS, convert

Cut = Literal["rounded", "cut"]
"""How digits were removed: rounded to the nearest, or truncated ("cut")."""


@dataclass(frozen=True)
class PrintedRange:
    """A printed number and the interval of values that it may stem from."""

    value: Decimal
    low: Decimal
    high: Decimal

    def overlaps(self, other: "PrintedRange") -> bool:
        return self.low <= other.high and other.low <= self.high


def unit_in_last_place(printed: Decimal, *, approximate: bool = False) -> Decimal:
    """The unit in the last place. For an approximate 850 this is 10, because its zero is not significant."""
    exponent = (printed.normalize() if approximate and printed else printed).as_tuple().exponent
    assert isinstance(exponent, int)  # a Printed is finite
    return Decimal(1).scaleb(exponent)


def span(printed: Decimal, *, approximate: bool = False, cut: bool = False) -> PrintedRange:
    """The values that are printed as `printed` if rounded to the nearest; with `cut`, also if truncated."""
    unit = unit_in_last_place(printed, approximate=approximate)
    return PrintedRange(printed, max(Decimal(0), printed - unit / 2), printed + (unit if cut else unit / 2))


def standard_span(point: Point) -> PrintedRange:
    """The interval of a point in the unit of its metric (a change: as a multiple of open)."""
    if point.implied is not None:
        return PrintedRange(point.value, point.implied.low, point.implied.high)
    around = span(point.value, approximate=point.approximate)
    values = sorted(
        point.model_copy(update={"value": value}).standard_value
        for value in (around.low, around.high)
        if value
    )
    return PrintedRange(point.standard_value, values[0], values[-1])


def to_standard(around: PrintedRange, unit: str, of: Operand) -> PrintedRange:
    """Convert an interval from a printed unit to the unit of the metric of `of`."""
    to = METRICS[of.metric].unit
    return PrintedRange(*(convert(value, unit, to) for value in (around.value, around.low, around.high)))


def combined(of: Callable[[Decimal, Decimal], Decimal], a: PrintedRange, b: PrintedRange) -> PrintedRange:
    """Apply a function of two numbers; it must be monotonic in each number over its interval."""
    corners = [of(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return PrintedRange(of(a.value, b.value), min(corners), max(corners))


def difference(a: PrintedRange, b: PrintedRange) -> PrintedRange:
    """The absolute difference of two numbers."""
    apart = combined(lambda x, y: x - y, a, b)
    if apart.value < 0:
        apart = PrintedRange(-apart.value, -apart.high, -apart.low)
    return PrintedRange(apart.value, max(Decimal(0), apart.low), apart.high)


def percent(a: PrintedRange, b: PrintedRange, convention: Convention) -> PrintedRange:
    """The difference in percent of the larger or of the smaller of two positive numbers."""
    large, small = (a, b) if a.value >= b.value else (b, a)
    if convention == "larger":
        return combined(lambda x, y: 100 * (x - y) / x, large, small)
    return combined(lambda x, y: 100 * (x - y) / y, large, small)


def ratio(a: PrintedRange, b: PrintedRange) -> PrintedRange:
    """The larger of two positive numbers over the smaller."""
    large, small = (a, b) if a.value >= b.value else (b, a)
    return combined(lambda x, y: x / y, large, small)


def operands(
    apart: PrintedRange, percent_: PrintedRange, convention: Convention
) -> tuple[PrintedRange, PrintedRange]:
    """The larger and the smaller of two numbers, from their difference and its percentage of one of them."""

    def base(d: Decimal, p: Decimal) -> Decimal:
        return 100 * d / p

    if convention == "larger":
        return combined(base, apart, percent_), combined(lambda d, p: base(d, p) - d, apart, percent_)
    return combined(lambda d, p: base(d, p) + d, apart, percent_), combined(base, apart, percent_)


def printed_as(value: Decimal, printed: Decimal) -> Cut | None:
    """How `value` was shortened to `printed`; None if `printed` is not `value` shortened."""
    unit = unit_in_last_place(printed)
    if value.quantize(unit, ROUND_HALF_UP) == printed:
        return "rounded"
    return "cut" if value.quantize(unit, ROUND_DOWN) == printed else None


def shown(value: Decimal, like: Decimal | None = None) -> str:
    """A computed number with the decimals of `like`, at least two; without `like`, with four significant digits."""
    if like is not None:
        unit = Decimal(1).scaleb(min(-2, int(like.as_tuple().exponent)))
        return f"{value.quantize(unit, ROUND_HALF_UP):f}"
    text = f"{value.quantize(Decimal(1).scaleb(min(0, value.adjusted() - 3)), ROUND_HALF_UP):f}"
    whole, _, rest = text.partition(".")
    return text if rest.strip("0") else whole
