"""Lookup of the published points for a measured cell."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from airtoll.published import matching, published
from airtoll.study import Cell


@pytest.fixture
def ac_levels(cell: Callable[..., Cell]) -> Callable[..., dict[str, Any]]:
    def levels(**changed: object) -> dict[str, Any]:
        usual = {"phy": "vht", "bandwidth": 80, "rate": "mcs9", "streams": 3, "topology": "wired-ap"}
        return cell(**{**usual, **changed}).model_dump()

    return levels


def test_a_cell_finds_its_published_point(ac_levels: Callable[..., dict[str, Any]]) -> None:
    levels = ac_levels(transport="tcp", ip="ipv4", packet_size=1152, security="ccmp")
    (point,) = matching(published("kolahi-11ac"), levels, "throughput")
    assert (point.id, point.value) == ("tcp-ccmp-ipv4-1152", 560)
    assert not matching(published("kolahi-11ac"), levels, "rtt")


@pytest.mark.parametrize("changed", [{"bandwidth": 160}, {"packet_size": 1024}, {"security": "gcmp"}])
def test_a_cell_with_another_level_has_no_published_point(
    ac_levels: Callable[..., dict[str, Any]], changed: dict[str, object]
) -> None:
    levels = ac_levels(
        **{"transport": "tcp", "ip": "ipv4", "packet_size": 1152, "security": "ccmp", **changed}
    )
    assert not matching(published("kolahi-11ac"), levels, "throughput")


def test_implied_points_are_found_too() -> None:
    levels = {"phy": "ht", "transport": "udp", "ip": "ipv6", "packet_size": 384, "security": "open"}
    (point,) = matching(published("kolahi-11n-udp"), levels, "throughput")
    assert point.implied is not None
    assert float(point.value) == pytest.approx(19.96 / 0.2818)


def test_a_mean_over_the_rates_is_no_value_of_one_rate() -> None:
    levels = {"phy": "ofdm", "security": "open", "transport": "tcp"}
    publication = published("pacheco-11ag")
    assert [p.value for p in matching(publication, levels, "ftp_rate")] == [Decimal("1745.2")]
    assert not matching(publication, {**levels, "rate": "54 Mbit/s"}, "ftp_rate")


def test_changes_and_values_are_kept_apart() -> None:
    publication = published("hayajneh-enhanced")
    levels = {"security": "enhanced1", "crypto_at": "host", "packet_size": 1408}
    assert not matching(publication, levels, "video_rtt")
    (change,) = matching(publication, levels, "video_rtt", changes=True)
    assert (change.value, change.unit, change.change) == (20, "%", "higher")
    assert float(change.standard_value) == pytest.approx(1.2)


def test_quoted_points_match_no_cell() -> None:
    levels = {"phy": "ht", "security": "ccmp", "transport": "tcp", "ip": "ipv4"}
    assert not matching(published("kolahi-11ac"), levels, "throughput", changes=True)
