"""The published data use the words of study files, and every value has a unit and a place in its paper."""

import re
from decimal import Decimal

import pytest
from made_cell import make_cell
from pydantic import ValidationError

from airtoll.errors import UsageError
from airtoll.published import METRICS, UNITS, Condition, Point, Publication, implied_points, names, published
from airtoll.published.publication import ComparisonClaim
from airtoll.study import FACTORS, READY_MADE

STUDIES = ("hayajneh-enhanced", "kolahi-11ac", "kolahi-11n-udp", "pacheco-11ag", "tepsic-11n")
each_study = pytest.mark.parametrize("study", STUDIES)


def test_the_five_studies_are_there() -> None:
    assert names() == STUDIES


def test_an_unknown_name_is_one_line_with_the_nearest() -> None:
    with pytest.raises(
        UsageError, match=r"^'tepsic-11' is not a publication; .*; did you mean 'tepsic-11n'\?$"
    ):
        published("tepsic-11")


@each_study
def test_every_point_has_a_place_and_a_unit_of_its_metric(study: str) -> None:
    publication = published(study)
    for point in publication.points:
        assert point.place
        if point.change is None:
            assert UNITS[point.unit][0] == UNITS[METRICS[point.metric].unit][0]
        else:
            assert point.unit in ("%", "x")


@each_study
def test_places_of_papers_are_sections_and_paragraphs(study: str) -> None:
    publication = published(study)
    form = r"abstract|table [IVX]+|([^,]+), (paragraph|item|list item) [0-9a-z]+"
    every = (*publication.points, *publication.operands, *publication.claims, *publication.notes)
    assert [item.id for item in every if not re.fullmatch(form, item.place)] == []
    levels = {item.condition.security for item in (*publication.points, *publication.operands)}
    assert levels <= {None, *READY_MADE}
    assert all(publication.authors)
    assert publication.measured


def test_a_condition_has_every_factor_of_a_study() -> None:
    assert set(Condition.model_fields) == set(FACTORS)


@each_study
def test_ids_are_unique(study: str) -> None:
    publication = published(study)
    every = (
        *publication.points,
        *publication.operands,
        *publication.claims,
        *publication.notes,
        *publication.settings,
    )
    assert len({item.id for item in every}) == len(every)


@each_study
def test_levels_of_points_are_levels_of_a_cell(study: str) -> None:
    for point in (*published(study).points, *implied_points(published(study))):
        levels = {k: v for k, v in point.condition.given().items() if k != "stack"}
        cell = make_cell(**levels)
        assert {k: getattr(cell, k) for k in levels} == levels


def test_a_published_number_keeps_its_last_zero() -> None:
    rtt = published("kolahi-11ac").point("rtt-tcp-ccmp-ipv4-1280")
    assert (str(rtt.value), rtt.unit) == ("0.40", "ms")


def test_values_are_converted_to_the_unit_of_the_metric() -> None:
    points = published("kolahi-11ac")
    assert points.point("quoted-phy-rate-vht").standard_value == 1300
    card = published("hayajneh-enhanced").point("time-card-minimum")
    assert (card.value, card.unit, card.standard_value) == (10, "ms", 10_000)


def test_conditions_of_a_study_apply_to_its_own_points_only() -> None:
    publication = published("kolahi-11ac")
    assert publication.point("tcp-open-ipv4-1152").condition.bandwidth == 80
    quoted = [p for p in publication.points if p.quoted]
    assert quoted
    assert all(p.condition.bandwidth is None for p in quoted)


def test_table_1_of_the_fixed_rates() -> None:
    table = {
        (p.metric, p.condition.phy, p.condition.security): (str(p.value), str(p.uncertainty))
        for p in published("pacheco-11ag").points
        if p.figure == "Table I"
    }
    assert len(table) == 16
    assert table["throughput", "ofdm", "ccmp"] == ("15.9", "0.5")
    assert table["ftp_rate", "erp", "open"] == ("1526.9", "61.1")
    assert table["loss", "ofdm", "open"] == ("0.7", "0.1")
    assert table["jitter", "erp", "ccmp"] == ("2.3", "0.1")


SMALL = {
    "name": "small",
    "title": "Small",
    "authors": ["A"],
    "measured": "nothing",
    "point": [{"id": "a", "place": "I, paragraph 1", "metric": "rtt", "value": "0.40", "unit": "ms"}],
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"unit": "Mbps"}, "Mbps is not a unit of rtt"),
        ({"unit": "furlong"}, "'furlong' is not one of"),
        ({"metric": "speediness"}, "'speediness' is not one of"),
        ({"value": 0.4}, "0.4 is not a printed number"),
        ({"value": "fast"}, "'fast' is not a printed number"),
        ({"condition": {"security": "WPA 9"}}, "'WPA 9' is not allowed"),
        ({"condition": {"rate": "55 Mbit/s"}}, "55 Mbit/s"),
        ({"colour": "red"}, "Extra inputs"),
        ({"unit": "ms", "change": "lower"}, "unit of a change must be % or x"),
    ],
)
def test_faulty_data_is_refused(change: dict[str, object], words: str) -> None:
    point = {**SMALL["point"][0], **change}  # type: ignore[index, dict-item]
    with pytest.raises(ValidationError, match=words):
        Publication.model_validate({**SMALL, "point": [point]})


def test_a_claim_about_an_unknown_id_is_refused() -> None:
    claim = {"kind": "same", "id": "c", "place": "abstract", "of": ["a", "b"]}
    with pytest.raises(ValidationError, match="c: unknown id 'b'"):
        Publication.model_validate({**SMALL, "claim": [claim]})


def test_an_id_given_twice_is_refused() -> None:
    with pytest.raises(ValidationError, match="a: duplicate id"):
        Publication.model_validate({**SMALL, "point": [SMALL["point"][0], SMALL["point"][0]]})  # type: ignore[index]


@each_study
def test_implied_values_reproduce_the_printed_values(study: str) -> None:
    publication = published(study)
    for other in (False, True):
        by_claim: dict[str, list[Point]] = {}
        for point in implied_points(publication, other=other):
            assert point.implied is not None
            assert point.implied.low <= point.value <= point.implied.high
            by_claim.setdefault(point.implied.claim, []).append(point)
        for name, (a, b) in by_claim.items():
            claim = publication.claim(name)
            assert isinstance(claim, ComparisonClaim)
            assert claim.difference is not None
            assert claim.percent is not None
            large, small = max(a.value, b.value), min(a.value, b.value)
            assert abs(large - small - claim.difference) < Decimal("1e-20")
            implied = a.implied
            assert implied is not None
            base = large if implied.convention == "larger" else small
            assert abs(100 * (large - small) / base - claim.percent) < Decimal("1e-20")


def test_the_values_that_the_udp_study_does_not_print() -> None:
    implied = {p.id: p for p in implied_points(published("kolahi-11n-udp"))}
    assert float(implied["open-ipv4-1408"].value) == pytest.approx(31.48 / 0.2234 + 31.48)
    assert float(implied["ccmp-ipv4-1408"].value) == pytest.approx(31.48 / 0.2234)
    assert float(implied["rtt-open-ipv6-1408"].value) == pytest.approx(0.04 / 0.0519)
    # IPv6 is faster with WPA2 at 896 B, so it has the larger value.
    assert implied["ccmp-ipv6-896"].value > implied["ccmp-ipv4-896"].value
    # With one digit, a difference determines its operands only within a fifth.
    rtt = implied["rtt-open-ipv4-1408"].implied
    assert rtt is not None
    assert rtt.high / rtt.low > Decimal("1.2")
