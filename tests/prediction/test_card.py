"""The processor of a card is fitted to half of a set of figures and checked with the other half."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtoll.prediction import CardPoint, fit_card

SIZES = (128, 384, 640, 896, 1152, 1408)


def points(frame_us: float, byte_ns: float) -> list[CardPoint]:
    return [
        CardPoint(str(size), size, 20 + size / 50, 20 + size / 50 + frame_us + byte_ns * size / 1e3)
        for size in SIZES
    ]


@given(st.floats(0.5, 100), st.floats(0.5, 300))
def test_fitting_recovers_the_parameters_of_a_card(frame_us: float, byte_ns: float) -> None:
    fit = fit_card(points(frame_us, byte_ns))
    assert fit is not None
    assert (fit.frame_us, fit.byte_ns) == (
        pytest.approx(frame_us, rel=1e-6),
        pytest.approx(byte_ns, rel=1e-6),
    )
    assert fit.rms_error_percent == pytest.approx(0, abs=1e-6)
    assert {p.point.name for p in fit.predicted} | {p.name for p in fit.fitted} == set(map(str, SIZES))


def test_half_of_the_figures_take_no_part_in_the_fit() -> None:
    honest = points(5, 10)
    fit = fit_card(honest)
    assert fit is not None
    held_out = {p.point.name for p in fit.predicted}
    moved = [
        CardPoint(p.name, p.packet_size_b, p.open_us, p.secured_us * (2 if p.name in held_out else 1))
        for p in honest
    ]
    again = fit_card(moved)
    assert again is not None
    assert (again.frame_us, again.byte_ns) == (fit.frame_us, fit.byte_ns)
    assert all(p.error_percent == pytest.approx(-50) for p in again.predicted)


def test_no_processor_takes_less_than_no_time() -> None:
    faster = [CardPoint(p.name, p.packet_size_b, p.secured_us, p.open_us) for p in points(5, 10)]
    fit = fit_card(faster)
    assert fit is not None
    assert (fit.frame_us, fit.byte_ns) == (0, 0)


def test_three_figures_are_too_few() -> None:
    assert fit_card(points(5, 10)[:3]) is None


def test_throughputs_and_round_trips_are_times_of_a_packet() -> None:
    assert CardPoint.of_throughput("", 1408, 852, 698).open_us == pytest.approx(8 * 1408 / 852)
    assert CardPoint.of_rtt("", 1408, 0.341, 0.52).secured_us == pytest.approx(520)
