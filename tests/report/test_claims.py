"""Claims of a paper, and the verdicts of a result."""

from collections.abc import Callable
from typing import Any

import pytest
from report_fakes import Make, exactly, make_plan

from airtoll.published import names, published
from airtoll.report import write_report
from airtoll.report.material.data import ReportData
from airtoll.report.parts.claims import CONTRADICTED, NOT_MEASURED, Claims, Judged
from airtoll.report.parts.statements import Statement, of_publication
from airtoll.study.cell import Run
from airtoll.study.claims import ClaimTable

KOLAHI = {"phy": ("ht",), "bandwidth": (40,), "topology": ("wired-ap",), "transport": ("udp",)}


def judged(make: Make, throughput: Callable[[Run], float], repeats: int = 3) -> dict[str, Judged]:
    """The claims of the study over 802.11n by their text."""
    plan = make_plan(
        sizes=(384, 896, 1408), repeats=repeats, rates=("mcs15",), study="kolahi-11n-udp", factors=KOLAHI
    )
    data = ReportData.of(
        make(plan, samples=exactly(throughput=throughput), invalid=lambda _: (), lab="sim", link={})
    )
    claims = Claims(data, published("kolahi-11n-udp"))
    return {one.statement.words(data.fixed): one for one in claims.judged}


def as_published(run: Run) -> float:
    """CCMP costs 20 %, IPv6 10 % on the open network; IPv6 with CCMP is as fast as IPv4."""
    cell = run.cell
    share = (0.8 if cell.security == "ccmp" else 1.0) * (
        0.9 if (cell.ip, cell.security) == ("ipv6", "open") else 1.0
    )
    return 1e8 * share * cell.packet_size / 1408 * (1 + 0.001 * run.replicate + 0.0003 * (run.order % 5))


def test_a_significant_change_confirms_a_claim(make: Make) -> None:
    claims = judged(make, as_published)
    costly = claims["Throughput is higher with open than with CCMP"]
    assert (costly.verdict, costly.measured.cells) == ("confirmed", 6)
    assert costly.measured.value == pytest.approx(100 * ((1 / 0.8 * 0.9 / 0.8) ** 0.5 - 1), abs=0.2)
    assert claims["Throughput is higher with IPv4 than with IPv6 (open)"].verdict == "confirmed"
    alike = claims["Throughput is higher with IPv6 than with IPv4 (CCMP)"]
    assert alike.verdict == "no relevant difference"
    assert alike.measured.interval is not None
    assert alike.measured.interval.contains(0)
    rising = claims["Throughput rises with packet size"]
    assert rising.measured.value == pytest.approx(100 * (1408 / 384 - 1), abs=1)
    assert rising.published is not None
    times = rising.measured.value / rising.published
    assert times > 2
    assert rising.words == f"other size ({times:.2g} times the published change)"


def test_values_far_from_the_published_ones_are_said_beside_the_verdict(make: Make) -> None:
    costly = judged(make, lambda run: 10 * as_published(run))["Throughput is higher with open than with CCMP"]
    assert costly.verdict == "confirmed"  # the change is as published
    assert costly.times_printed is not None
    assert costly.times_printed > 2
    assert costly.words == f"confirmed (the values are {costly.times_printed:.2g} times the published ones)"


def test_a_significant_change_in_the_other_direction_is_opposite(make: Make) -> None:
    def cheap(run: Run) -> float:
        return as_published(run) * (1.5 if run.cell.security == "ccmp" else 1.0)

    assert judged(make, cheap)["Throughput is higher with open than with CCMP"].verdict == "opposite"


def test_a_claim_up_to_a_packet_size_is_tested_up_to_it(make: Make) -> None:
    claims = judged(make, as_published)
    assert claims["Throughput is higher with IPv6 than with IPv4 (CCMP, up to 896 B)"].measured.cells == 2
    assert claims["Throughput is higher with IPv6 than with IPv4 (CCMP, 896 B)"].measured.cells == 1


def test_claims_show_what_the_paper_printed(make: Make) -> None:
    claims = judged(make, as_published)
    # 172.39 against 140.91 Mbit/s over IPv4, and 164.80 against 140.47 over IPv6.
    both = claims["Throughput is higher with open than with CCMP"]
    assert both.published == pytest.approx(100 * ((172.39 / 140.91 * 164.80 / 140.47) ** 0.5 - 1), abs=0.1)
    unprinted = claims["Round-trip time is lower with IPv4 than with IPv6 (open, 1408 B)"]
    assert (unprinted.verdict, unprinted.measured.value) == ("not measured", None)


def test_a_repeated_claim_is_listed_once_with_all_places(make: Make) -> None:
    (claim,) = (one for words, one in judged(make, as_published).items() if "(IPv4, 1408 B)" in words)
    assert claim.places == ("IV, paragraph 5", "abstract")


def test_one_round_confirms_nothing(make: Make) -> None:
    assert {one.verdict for one in judged(make, as_published, repeats=1).values()} == {
        "not confirmed",
        "not measured",
    }


@pytest.mark.parametrize("name", names())
def test_statements_compare_different_conditions(name: str) -> None:
    ends = {"packet_size": (128, 1408), "offered": (4.0, 7.0)}
    for _, claim in of_publication(published(name), ends):
        assert (claim if isinstance(claim, Statement) else claim.change).compared
        assert claim.words({})


def test_changes_against_the_open_network_are_published_values(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("report_fakes.expected_bit_per_s", lambda _: 1.0)
    factors = {
        "security": ("open", "ccmp", "enhanced1"),
        "transport": ("udp",),
        "ip": ("ipv4",),
        "phy": ("erp",),
        "topology": ("through-ap",),
    }
    plan = make_plan(sizes=(1400,), repeats=2, rates=("54",), study="hayajneh-enhanced", factors=factors)
    data = ReportData.of(make(plan, samples=exactly(throughput=as_published), lab="sim", link={}))
    found = {
        one.statement.words(data.fixed): one.published
        for one in Claims(data, published("hayajneh-enhanced")).judged
    }
    almost_doubled = found["Round-trip delay under video is lower with open than with CCMP"]
    assert almost_doubled == pytest.approx(-50)
    ours = found["Round-trip delay under video is lower with Enhanced CCMP, 1 lane than with CCMP"]
    assert ours == pytest.approx(100 * (1.2 / 2 - 1))
    assert found["Throughput is equal with open and with WEP-104"] is None


def test_a_claim_of_equality_is_confirmed_within_five_percent(make: Make) -> None:
    name = "Throughput is equal with IPv4 and with IPv6 (CCMP, 1408 B)"
    assert judged(make, as_published)[name].verdict == "confirmed"


def of_study(make: Make, throughput: Callable[[Run], float], *tables: dict[str, Any]) -> list[Judged]:
    """The verdicts on a study's own claims about throughput."""
    plan = make_plan(sizes=(128, 512, 1408), repeats=4, transports=("udp",)).model_copy(
        update={"claims": tuple(ClaimTable.model_validate({"metric": "throughput", **one}) for one in tables)}
    )
    made = make(plan, samples=exactly(throughput=throughput), invalid=lambda _: (), lab="sim", link={})
    return list(Claims(ReportData.of(made)).judged)


OPEN_BETTER = {"kind": "ordering", "factor": "security", "better": "open", "worse": "ccmp"}


@pytest.mark.parametrize(
    ("size", "verdict", "printed"),
    [
        ({}, "confirmed", ""),
        ({"at_least": "20 %"}, "confirmed", "at least 20 %"),
        ({"at_most": "20 %"}, "other size", "at most 20 %"),
        ({"at_least": 40, "at_most": 60}, "other size", "40 to 60 %"),
        ({"at_least": "15 %", "percent_of": "better"}, "confirmed", "at least 15 % of open"),
        ({"at_least": "21 %", "percent_of": "better"}, "other size", "at least 21 % of open"),
        ({"at_most": "21 %", "percent_of": "better"}, "confirmed", "at most 21 % of open"),
    ],
)
def test_a_claim_of_the_study_is_judged_with_its_size(
    make: Make, size: dict[str, Any], verdict: str, printed: str
) -> None:
    where = {"ip": "ipv4", "packet_size": "1408 B"}  # CCMP costs 20 %, so open is 25 % faster
    (one,) = of_study(make, as_published, {**OPEN_BETTER, "where": where, "title": "data sheet", **size})
    assert (one.verdict, one.statement.printed, one.places) == (verdict, printed, ("data sheet",))
    assert one.measured.value == pytest.approx(25, abs=0.2)


@pytest.mark.parametrize("place", ["host", "card"])
def test_a_claim_may_name_the_place_of_encryption(make: Make, place: str) -> None:
    plan = make_plan(transports=("udp",), factors={"crypto_at": ("host", "card")})
    claim = ClaimTable.model_validate({**OPEN_BETTER, "metric": "throughput", "where": {"crypto_at": place}})
    made = make(
        plan.model_copy(update={"claims": (claim,)}),
        samples=exactly(throughput=as_published),
        invalid=lambda _: (),
    )
    (one,) = Claims(ReportData.of(made)).judged
    assert (one.verdict, one.measured.cells) == ("confirmed", 4)


def test_a_claim_of_equality_has_its_own_limit(make: Make) -> None:
    alike = {"kind": "equality", "factor": "ip", "of": ["ipv4", "ipv6"], "where": {"security": "open"}}
    loose, strict = of_study(make, as_published, {**alike, "within": "12 %"}, {**alike, "within": "8 %"})
    assert (loose.verdict, strict.verdict) == ("confirmed", "opposite")  # IPv4 is 11.1 % faster
    assert loose.statement.words({}) == "Throughput with IPv4 is within 12 % of that with IPv6 (open)"


def test_an_interaction_compares_the_costs_at_two_levels(make: Make) -> None:
    ccmp = {"kind": "interaction", "factor": "security", "better": "open", "worse": "ccmp", "by": "ip"}
    ipv4, ipv6, alike = of_study(
        make,
        as_published,
        {**ccmp, "larger": "ipv4", "smaller": "ipv6"},
        {**ccmp, "larger": "ipv6"},
        {**ccmp, "larger": "ipv4", "smaller": "ipv6", "alike": True},
    )
    # Open is 25 % faster over IPv4 (1 / 0.8), and 12.5 % faster over IPv6 (0.9 / 0.8).
    assert (ipv4.verdict, ipv4.measured.cells) == ("confirmed", 3)
    assert ipv4.measured.value == pytest.approx(100 * (1.25 / 1.125 - 1), abs=0.1)
    assert (ipv6.verdict, alike.verdict) == ("opposite", "opposite")
    assert ipv4.statement.words({}) == (
        "The cost of CCMP against open in throughput is larger with IPv4 than with IPv6"
    )


def test_an_interaction_with_all_other_levels_can_be_absolute(make: Make) -> None:
    peak = {**OPEN_BETTER, "kind": "interaction", "by": "packet_size", "absolute": True}
    most, least = of_study(
        make, as_published, {**peak, "larger": "highest"}, {**peak, "larger": 512, "smaller": "highest"}
    )
    assert (most.verdict, most.measured.in_percent) == ("confirmed", False)
    # Costs in Mbit/s at 128, 512 and 1408 B, over IPv4 20 and over IPv6 10 at the largest size.
    at_size = [size / 1408 * (20 + 10) / 2 for size in (128, 512, 1408)]
    assert most.measured.value == pytest.approx(at_size[2] - (at_size[0] + at_size[1]) / 2, rel=0.02)
    assert least.verdict == "opposite"
    assert "larger with 1408 B than with other packet sizes (in Mbit/s)" in most.statement.words({})


def test_claims_of_a_paper_and_of_the_study_are_one_family(make: Make) -> None:
    plan = make_plan(
        sizes=(384, 896, 1408), repeats=3, rates=("mcs15",), study="kolahi-11n-udp", factors=KOLAHI
    ).model_copy(update={"claims": (ClaimTable.model_validate({**OPEN_BETTER, "metric": "rtt"}),)})
    data = ReportData.of(
        make(plan, samples=exactly(throughput=as_published), invalid=lambda _: (), lab="sim", link={})
    )
    claims = Claims(data, published("kolahi-11n-udp"))
    assert "study file" in {place for one in claims.judged for place in one.places}
    assert claims.grid().title == "Claims of the paper and of the study, and the verdicts of this result"


def test_at_most_ten_claims_stand_after_the_figures_and_the_others_are_folded(make: Make) -> None:
    """The claim of the study is first, then contradicted claims, then those about security; all are measured."""
    plan = make_plan(
        sizes=(384, 896, 1408), repeats=3, rates=("mcs15",), study="kolahi-11n-udp", factors=KOLAHI
    ).model_copy(update={"claims": (ClaimTable.model_validate({**OPEN_BETTER, "metric": "throughput"}),)})
    result = make(plan, samples=exactly(throughput=as_published), invalid=lambda _: (), lab="sim", link={})
    data = ReportData.of(result)
    claims = Claims(data, published("kolahi-11n-udp"))
    assert len(claims.leading) == 10
    assert claims.leading[0].sources[0].of_study
    assert NOT_MEASURED not in {one.verdict for one in claims.leading}
    rank = [(one.verdict in CONTRADICTED, one.statement.compares("security")) for one in claims.leading[1:]]
    assert rank == sorted(rank, reverse=True)
    assert {True, False} == {contradicted for contradicted, _ in rank}
    assert sorted(map(id, (*claims.leading, *claims.further))) == sorted(map(id, claims.judged))
    assert set(claims.leading_grid().rows) | set(claims.further_grid().rows) == set(claims.grid().rows)

    paths = write_report(result, result.directory)
    page = paths.html.read_text(encoding="utf-8")
    figures, shown = page.index('<section id="figures">'), page.index('<section id="claims">')
    folded = page.index('<details class="card" id="further-claims">')
    assert figures < shown < folded
    assert f"<summary>{len(claims.further)} further claims: " in page[folded:]
    first, _, further = page[shown:].partition('id="further-claims"')
    assert first.count('<th scope="row">') == 10
    assert further.partition("</details>")[0].count('<th scope="row">') == len(claims.further)
    markdown = paths.markdown.read_text(encoding="utf-8")
    assert markdown.index("## Comparison") < markdown.index(f"## {len(claims.further)} further claims: ")


def contradicted(make: Make, throughput: Callable[[Run], float], repeats: int = 3) -> dict[str, str]:
    """The claims of the study over 802.11n that a result of lab sim contradicts, with the reason."""
    plan = make_plan(
        sizes=(128, 1408), repeats=repeats, rates=("mcs15",), study="kolahi-11n-udp", factors=KOLAHI
    )
    data = ReportData.of(
        make(plan, samples=exactly(throughput=throughput), invalid=lambda _: (), lab="sim", link={})
    )
    grid = Claims(data, published("kolahi-11n-udp")).disagreements()
    assert grid.columns == ("Claim", "Why the model differs", "Published", "Model")
    return {claim: why for claim, why, *_ in grid.rows}


def test_a_claim_that_the_model_contradicts_has_the_papers_reason(make: Make) -> None:
    found = contradicted(make, as_published)  # CCMP costs 20 % at 128 B too
    assert found["Throughput is equal with open and with CCMP (IPv4, 128 B)"].startswith("The model's card")
    assert "Throughput is higher with open than with CCMP" not in found


@pytest.mark.parametrize(
    ("ccmp", "scatter", "why"),
    [
        (1.1, 0.001, "\N{EN DASH}"),
        (1.01, 0.05, "The change is smaller than the scatter of the runs."),
    ],
)
def test_a_contradiction_without_a_reason_is_shown(make: Make, ccmp: float, scatter: float, why: str) -> None:
    def throughput(run: Run) -> float:
        share = ccmp * (1 + scatter * (run.replicate - 2)) if run.cell.security == "ccmp" else 1.0
        return 1e6 * share * run.cell.packet_size

    assert contradicted(make, throughput)["Throughput is higher with open than with CCMP"] == why


def test_claims_about_other_factors_are_not_in_the_table_of_contradictions(make: Make) -> None:
    found = contradicted(make, lambda run: as_published(run) * (3 if run.cell.ip == "ipv6" else 1))
    assert "Throughput is higher with IPv4 than with IPv6 (open)" not in found


def test_without_claims_there_is_no_table(make: Make) -> None:
    claims = Claims(ReportData.of(make()))
    assert claims.grid().rows == claims.disagreements().rows == ()
