"""The papers' arithmetic, recomputed: known figures, and figures that do not fit."""

from decimal import Decimal

import pytest

from airtoll.published import Finding, Publication, findings, published


def of(study: str, claim: str, unit: str | None = None) -> list[Finding]:
    """The findings about a claim, or about its number in one unit."""
    return [f for f in findings(published(study)) if claim in f.about and unit in (None, f.unit)]


def percent_of(study: str, claim: str) -> Finding:
    (finding,) = (f for f in of(study, claim, "%") if len(f.outcomes) == 2)
    return finding


@pytest.mark.parametrize(
    ("claim", "larger", "smaller"),
    [
        ("tcp-ipv4-security", "16.79", "20.18"),
        ("tcp-open-ip", "68.38", "216.27"),
        ("udp-ipv6-security", "13.00", "14.94"),
        ("rtt-udp-open-ip", "13.33", "15.38"),
        ("rtt-udp-ipv6-security", "40.00", "66.67"),
    ],
)
def test_percents_of_802_11ac_come_out_in_both_conventions(claim: str, larger: str, smaller: str) -> None:
    finding = percent_of("kolahi-11ac", claim)
    values = {o.convention: o.value.quantize(Decimal("0.01")) for o in finding.outcomes}
    assert values == {"larger": Decimal(larger), "smaller": Decimal(smaller)}
    assert finding.verdict == "holds"
    assert "larger" in finding.fits


def test_the_baseline_is_open_which_is_the_smaller_in_round_trip_time() -> None:
    throughput = percent_of("kolahi-11ac", "tcp-ipv4-security")
    rtt = percent_of("kolahi-11ac", "rtt-tcp-ipv4-security")
    between_ips = percent_of("kolahi-11ac", "tcp-open-ip")
    assert {o.convention: o.of_baseline for o in throughput.outcomes} == {"larger": True, "smaller": False}
    assert {o.convention: o.of_baseline for o in rtt.outcomes} == {"larger": False, "smaller": True}
    assert {o.of_baseline for o in between_ips.outcomes} == {None}


def test_an_outcome_left_open_by_rounding_is_reported() -> None:
    # 0.264 and 0.29 ms have so few digits that 8.96 % could be relative to either.
    finding = percent_of("kolahi-11ac", "rtt-tcp-open-ip")
    assert finding.fits == ("larger", "smaller")
    assert [o.printed_as for o in finding.outcomes] == ["cut", None]


def test_no_pair_of_values_gives_the_6_78_percent_of_the_conclusions() -> None:
    finding = percent_of("kolahi-11ac", "tcp-security-conclusion")
    assert finding.verdict == "contradicts"
    assert finding.fits == ()
    assert "1667 Mbit/s" in finding.text
    repeated = [f for f in of("kolahi-11ac", "tcp-security-conclusion") if not f.outcomes]
    assert any("16.79 % (abstract)" in f.text and "6.78 % (V, paragraph 2)" in f.text for f in repeated)


def test_a_mean_in_the_abstract_that_is_a_maximum_in_the_results() -> None:
    assert any(
        f.verdict == "contradicts"
        and "called the largest (IV, paragraph 4) and called the mean (abstract)" in f.text
        for f in of("kolahi-11ac", "tcp-ipv4-security-abstract")
    )


def test_the_better_one_that_is_the_worse() -> None:
    (finding,) = (f for f in of("kolahi-11ac", "cpu-udp-ccmp-ip") if "calls" in f.text)
    assert finding.verdict == "contradicts"
    assert "cpu-udp-ccmp-ipv4-384" in finding.text


def test_differently_quoted_works() -> None:
    (finding,) = of("kolahi-11ac", "quoted-filho-wep104")
    assert "20 % lower here" in finding.text
    assert "7 % lower in kolahi-11n-udp" in finding.text
    assert not [f for f in of("kolahi-11ac", "quoted-kolahi-2009-ipv4") if "here" in f.text]  # 7.07 % in both


def test_175_mbps_agrees_with_neither_convention() -> None:
    (finding,) = of("kolahi-11n-udp", "highest-at-1408")
    assert finding.verdict == "contradicts"
    assert "172.4" in finding.text
    assert "140.9" in finding.text


def test_within_their_rounding_850_is_852_and_49_is_48_8() -> None:
    for study, claim in (("kolahi-11ac", "udp-highest-at-1408"), ("tepsic-11n", "tcp-highest-twice")):
        (finding,) = of(study, claim)
        assert finding.verdict == "holds"


def test_a_largest_difference_that_is_not() -> None:
    (finding,) = (f for f in of("tepsic-11n", "systems-discussed") if f.verdict == "contradicts")
    assert "5.7" in finding.text


def test_udp_through_the_access_point_takes_more_than_the_card_has() -> None:
    (finding,) = (f for f in of("tepsic-11n", "udp-highest") if "spatial streams" in f.text)
    assert "requires at least 2 spatial streams" in finding.text


def test_speed_up_of_the_hardware_and_of_the_system() -> None:
    (finding,) = of("hayajneh-enhanced", "hardware-speed-up", "1")
    assert (finding.verdict, finding.printed) == ("holds", Decimal("3.7"))
    assert finding.outcomes[0].value.quantize(Decimal("0.001")) == Decimal("3.675")
    assert any(
        "3.85" in f.text and f.verdict == "contradicts" for f in of("hayajneh-enhanced", "speed-results")
    )


def test_agreement_within_the_experimental_errors() -> None:
    verdicts = [f for f in findings(published("pacheco-11ag")) if "overlap" in f.text]
    assert len(verdicts) == 8
    assert {f.verdict for f in verdicts} == {"holds"}


def test_802_11a_is_not_best_in_jitter() -> None:
    (finding,) = (f for f in of("pacheco-11ag", "ofdm-better-jitter-all") if f.verdict == "contradicts")
    assert "2 of 2 pairs" in finding.text


def test_uncertainties_that_are_a_fixed_share() -> None:
    (ftp,) = (f for f in of("pacheco-11ag", "ftp-ccmp-ofdm") if "uncertainties" in f.text)
    assert ftp.verdict == "contradicts"
    assert "4.002 %" in ftp.text
    assert not [f for f in of("pacheco-11ag", "jitter-ccmp-ofdm") if "uncertainties" in f.text]


def test_points_of_a_percentage_are_no_percents() -> None:
    (finding,) = (
        f for f in findings(published("kolahi-11ac")) if f.text.startswith("8 differences of cpu_hosts")
    )
    assert finding.verdict == "contradicts"


def made(**tables: object) -> Publication:
    """A synthetic publication with two round-trip times, 10 and 12 ms."""
    common = {"place": "I, paragraph 1", "metric": "rtt", "unit": "ms"}
    a = {**common, "id": "a", "value": "10", "condition": {"security": "open", "packet_size": 128}}
    b = {**common, "id": "b", "value": "12", "condition": {"security": "ccmp", "packet_size": 128}}
    return Publication.model_validate(
        {"name": "made", "title": "T", "authors": ["A"], "measured": "m", "point": [a, b], **tables}
    )


@pytest.mark.parametrize(
    ("key", "value", "fits"),
    [
        ("difference", "2", True),
        ("difference", "4", False),
        ("percent", "16", True),
        ("percent", "20", True),
        ("percent", "35", False),
        ("ratio", "1.2", True),
        ("ratio", "2.2", False),
    ],
)
def test_a_published_number_is_checked_against_its_operands(key: str, value: str, fits: bool) -> None:
    claim = {"kind": "comparison", "id": "c", "place": "abstract", "of": ["a", "b"], "unit": "ms", key: value}
    (finding,) = findings(made(claim=[claim]))[:1] if key != "percent" else (percent(made(claim=[claim])),)
    assert (finding.verdict == "holds") is fits


def percent(publication: Publication) -> Finding:
    (finding,) = (f for f in findings(publication) if f.printed is not None)
    return finding


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (
            {"kind": "ordering", "metric": "rtt", "factor": "security", "better": "open", "worse": "ccmp"},
            "holds",
        ),
        (
            {"kind": "ordering", "metric": "rtt", "factor": "security", "better": "ccmp", "worse": "open"},
            "contradicts",
        ),
        ({"kind": "same", "of": ["a", "b"]}, "contradicts"),
    ],
)
def test_statements_are_held_against_the_values(claim: dict[str, object], verdict: str) -> None:
    (finding,) = findings(made(claim=[{**claim, "id": "c", "place": "abstract"}]))
    assert finding.verdict == verdict
    assert finding.consistent is (verdict == "holds")


def test_a_trend_that_the_values_do_not_follow() -> None:
    later = {"place": "I, paragraph 1", "metric": "rtt", "unit": "ms", "id": "a2", "value": "8"}
    point = [
        *(p.model_dump(mode="json", exclude_none=True) for p in made().points),
        {**later, "condition": {"security": "open", "packet_size": 256}},
    ]
    trend = {"kind": "trend", "id": "c", "place": "abstract", "metric": "rtt"}
    for way, verdict in (("rises", "contradicts"), ("falls", "holds")):
        (finding,) = findings(made(point=point, claim=[{**trend, "way": way}]))
        assert finding.verdict == verdict
