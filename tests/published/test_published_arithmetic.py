"""Printed numbers and the intervals that their rounding allows."""

from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtoll.published.arithmetic import PrintedRange, operands, percent, printed_as, ratio, shown, span
from airtoll.published.claims import phy_rate_mbps, streams_needed

positive = st.decimals(Decimal("0.5"), Decimal(1000), places=6)
digits = st.integers(0, 3)
conventions = st.sampled_from(["larger", "smaller"])


@given(positive, digits)
def test_a_number_is_within_the_span_of_its_printed_form(value: Decimal, places: int) -> None:
    unit = Decimal(1).scaleb(-places)
    rounded = span(value.quantize(unit, ROUND_HALF_UP))
    assert rounded.low <= value <= rounded.high
    cut = span(value.quantize(unit, ROUND_DOWN), cut=True)
    assert cut.low <= value <= cut.high


@given(positive, positive, digits, digits, conventions)
def test_a_percent_of_the_true_values_is_within_that_of_the_printed_ones(
    a: Decimal, b: Decimal, places_a: int, places_b: int, convention: str
) -> None:
    printed = [
        value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
        for value, places in ((a, places_a), (b, places_b))
    ]
    spans = [span(value) for value in printed]
    if min(printed) <= 1 or spans[0].overlaps(spans[1]):  # then it is unknown which is larger
        return
    base = max(a, b) if convention == "larger" else min(a, b)
    true = 100 * abs(a - b) / base
    computed = percent(spans[0], spans[1], convention)  # type: ignore[arg-type]
    tiny = Decimal("1e-20")
    assert computed.low - tiny <= true <= computed.high + tiny


@given(positive, st.decimals(Decimal(1), Decimal(80), places=4), conventions)
def test_operands_give_back_their_difference_and_percent(
    apart: Decimal, share: Decimal, convention: str
) -> None:
    exact = [PrintedRange(value, value, value) for value in (apart, share)]
    large, small = operands(exact[0], exact[1], convention)  # type: ignore[arg-type]
    assert float(large.value - small.value) == pytest.approx(float(apart))
    back = percent(large, small, convention)  # type: ignore[arg-type]
    assert float(back.value) == pytest.approx(float(share))


def test_trailing_zeros_of_an_approximate_number_are_not_significant() -> None:
    assert span(Decimal(850), approximate=True) == PrintedRange(Decimal(850), Decimal(845), Decimal(855))
    assert span(Decimal(850)) == PrintedRange(Decimal(850), Decimal("849.5"), Decimal("850.5"))


@pytest.mark.parametrize(
    ("value", "printed", "how"),
    [
        ("51.878", "51.88", "rounded"),
        ("51.878", "51.87", "cut"),
        ("51.878", "51.86", None),
        ("40", "40", "rounded"),
    ],
)
def test_rounded_and_truncated_digits_are_distinguished(value: str, printed: str, how: str | None) -> None:
    assert printed_as(Decimal(value), Decimal(printed)) == how


def test_a_ratio_has_the_larger_number_above() -> None:
    assert ratio(span(Decimal(770)), span(Decimal(2830))) == ratio(span(Decimal(2830)), span(Decimal(770)))


@pytest.mark.parametrize(
    ("phy", "bandwidth", "streams", "rate"),
    # IEEE Std 802.11-2020, tables 19-27 to 19-38 and 21-29 to 21-60, at 400 ns.
    [
        ("ht", 20, 1, "72.2"),
        ("ht", 40, 1, "150"),
        ("ht", 40, 4, "600"),
        ("vht", 80, 1, "433.3"),
        ("vht", 80, 3, "1300"),
    ],
)
def test_highest_phy_rates_equal_those_of_the_standard(
    phy: str, bandwidth: int, streams: int, rate: str
) -> None:
    assert phy_rate_mbps(phy, bandwidth, streams).quantize(Decimal("0.1")) == Decimal(rate)


def test_streams_needed_for_a_phy_rate() -> None:
    assert streams_needed(Decimal(150), "ht", 40) == 1
    assert streams_needed(Decimal("150.1"), "ht", 40) == 2


@pytest.mark.parametrize(
    ("value", "like", "text"),
    [("216.267", "68.38", "216.27"), ("600", None, "600"), ("0.86", None, "0.8600")],
)
def test_computed_numbers_are_shown_with_fitting_digits(value: str, like: str | None, text: str) -> None:
    assert shown(Decimal(value), None if like is None else Decimal(like)) == text
