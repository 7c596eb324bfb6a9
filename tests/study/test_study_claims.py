"""Claims in study files: their forms, their storage in the plan, and the errors of wrong ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from airtoll.errors import UsageError
from airtoll.study import expand, load_study
from airtoll.study.cell import Plan
from airtoll.study.claims import EqualityForm, InteractionForm, OrderingForm, TrendForm

STUDY = """
title = "Claims"
[factors]
security = ["open", "ccmp"]
transport = ["udp"]
ip = ["ipv4", "ipv6"]
packet_size = ["128 B", "1408 B"]
phy = ["ofdm"]
rate = ["54 Mbit/s"]
[method]
repeats = 1
duration = "1 s"
"""
ORDERING = """
[[claim]]
kind = "ordering"
metric = "throughput"
factor = "security"
better = "open"
worse = "ccmp"
where = { packet_size = "1408 B" }
at_most = "3 %"
"""
EQUALITY = """
[[claim]]
kind = "equality"
metric = "rtt"
factor = "ip"
of = ["ipv4", "ipv6"]
within = "2 %"
"""
TREND = """
[[claim]]
kind = "trend"
metric = "throughput"
way = "rises"
"""
INTERACTION = """
[[claim]]
kind = "interaction"
metric = "rtt"
factor = "security"
better = "open"
worse = "ccmp"
by = "packet_size"
larger = "lowest"
smaller = 1408
"""

Load = Callable[[str], Plan]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """The plan of a study file with this text."""

    def of(text: str) -> Plan:
        file = tmp_path / "study.toml"
        file.write_text(text, encoding="utf-8")
        return expand(load_study(file))

    return of


def test_each_kind_has_its_form(load: Load) -> None:
    plan = load(STUDY + ORDERING + EQUALITY + TREND + INTERACTION)
    ordering, equality, trend, interaction = (claim.form() for claim in plan.claims)
    assert isinstance(ordering, OrderingForm)
    assert (ordering.better, ordering.worse, ordering.at_most) == ("open", "ccmp", 3.0)
    assert ordering.where.given() == {"packet_size": 1408}
    assert isinstance(equality, EqualityForm)
    assert (equality.of, equality.within) == (("ipv4", "ipv6"), 2.0)
    assert isinstance(trend, TrendForm)
    assert (trend.over, trend.way) == ("packet_size", "rises")
    assert isinstance(interaction, InteractionForm)
    assert (interaction.larger, interaction.smaller) == ("lowest", 1408)


def test_the_plan_stores_the_claims_and_its_runs_do_not_depend_on_them(load: Load) -> None:
    without = load(STUDY)
    plan = load(STUDY + ORDERING + EQUALITY + TREND + INTERACTION)
    assert Plan.model_validate_json(plan.model_dump_json(), strict=True) == plan
    assert plan.runs == without.runs
    stored_before = without.model_dump_json(exclude={"claims"})
    assert Plan.model_validate_json(stored_before, strict=True).claims == ()


def test_ids_of_claims_are_unique(load: Load) -> None:
    named = ORDERING.replace("kind", 'id = "open-better"\nkind')
    assert [claim.id for claim in load(STUDY + named + EQUALITY).claims] == ["open-better", None]
    with pytest.raises(UsageError, match=r"claim\[1\].id: 'open-better' is a duplicate; ids must be unique"):
        load(STUDY + named + named)


@pytest.mark.parametrize(
    ("claim", "change", "error"),
    [
        (
            ORDERING,
            ('"ordering"', '"order"'),
            "claim[0].kind: 'order' is not allowed; use ordering, equality",
        ),
        (ORDERING, ('metric = "throughput"\n', ""), "claim[0].metric: missing key: The metric that"),
        (
            ORDERING,
            ('"throughput"', '"frame_delay"'),
            "claim[0].metric: no probe of the study measures frame_delay: add video to method.probes",
        ),
        (ORDERING, ('"throughput"', '"speed"'), "claim[0].metric: 'speed' is not allowed; use throughput"),
        (
            ORDERING,
            ('"ccmp"', '"tkip"'),
            "claim[0].worse: 'tkip' is not a level of factors.security; use open",
        ),
        (ORDERING, ('"ccmp"', '"open"'), "claim[0].worse: is the same level as better"),
        (ORDERING, ('"ccmp"', '["ccmp"]'), "claim[0].worse: a list is not a level"),
        (ORDERING, ('"1408 B"', '"1407 B"'), "claim[0].where.packet_size: '1407 B' is not a level"),
        (ORDERING, ("packet_size", "size"), "claim[0].where.size: unknown key; known keys: security"),
        (
            ORDERING,
            ("packet_size = ", 'security = "open", packet_size = '),
            "claim[0].where.security: is compared",
        ),
        (ORDERING, ("{ packet_size", "3 # {"), "claim[0].where: 3 is not a table"),
        (ORDERING, ('"3 %"', '"3 s"'), "claim[0].at_most: '3 s' has the wrong unit"),
        (ORDERING, ("at_most", 'at_least = "9 %"\nat_most'), "claim[0].at_most: 3 % is below at_least, 9 %"),
        (
            ORDERING,
            ('worse = "ccmp"\n', ""),
            "claim[0].worse: missing key: kind ordering requires factor, better",
        ),
        (
            ORDERING,
            ("at_most", "within"),
            "claim[0].within: kind ordering does not have this key; its keys: factor",
        ),
        (ORDERING, ("[[claim]]", "[claim]"), "claim: a table is not a list of tables: write [[claim]]"),
        (ORDERING, ("kind", 'id = "Open better"\nkind'), "claim[0].id: 'Open better' is not a name; names"),
        (EQUALITY, ('["ipv4", "ipv6"]', '"ipv4"'), "claim[0].of: 'ipv4' is not a list of two levels"),
        (EQUALITY, ('"ipv6"]', '"ipv4"]'), "claim[0].of: has the same level twice"),
        (EQUALITY, ('"ip"', '"phi"'), "claim[0].factor: 'phi' is not allowed; use security"),
        (TREND, ('"rises"', '"grows"'), "claim[0].way: 'grows' is not allowed; use rises or falls"),
        (
            TREND,
            ("way", 'over = "offered"\nway'),
            "claim[0].over: a trend requires several levels of factors.offered",
        ),
        (INTERACTION, ('"packet_size"', '"security"'), "claim[0].smaller: 1408 is not allowed"),
        (INTERACTION, ('"lowest"', '"ccmp"'), "claim[0].larger: 'ccmp' is not a packet size"),
    ],
)
def test_a_wrong_claim_is_refused_in_one_line(
    load: Load, claim: str, change: tuple[str, str], error: str
) -> None:
    with pytest.raises(UsageError) as caught:
        load(STUDY + claim.replace(*change, 1))
    assert f"study.toml: {error}" in str(caught.value)
    assert "\n" not in str(caught.value)
