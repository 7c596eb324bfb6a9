"""A plan is the complete design in randomised paired blocks, and depends only on the study."""

import hashlib
from collections import Counter
from itertools import groupby, product
from pathlib import Path
from typing import Any

import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from airtoll.clock import Clock
from airtoll.errors import UsageError
from airtoll.study import (
    FACTORS,
    LinkSettings,
    Plan,
    Study,
    describe,
    estimate_s,
    expand,
    find_study,
    levels_of,
    load_study,
)
from airtoll.study.claims import ClaimTable
from airtoll.study.factors import LATER_FACTORS


def study(quick: dict[str, Any] | None = None, method: dict[str, Any] | None = None, **factors: Any) -> Study:
    base: dict[str, Any] = {
        "security": ["open", "ccmp"],
        "transport": ["udp"],
        "ip": ["ipv4"],
        "packet_size": [128],
        "phy": ["ofdm"],
        "rate": ["54 Mbit/s"],
    }
    made: dict[str, Any] = {
        "name": "made",
        "text": "",
        "path": Path("made.toml"),
        "title": "Made for a test",
        "factors": base | factors,
        "method": {"repeats": 2, "duration": 1} | (method or {}),
    }
    return Study.model_validate(made if quick is None else made | {"quick": quick})


def some(*levels: Any) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(levels), min_size=1, unique=True)


STUDIES = st.builds(
    study,
    security=some("open", "wep40", "tkip", "ccmp", "gcmp256"),
    transport=some("tcp", "udp"),
    ip=some("ipv4", "ipv6"),
    packet_size=some(16, 128, 1408),
    rate=some("6 Mbit/s", "24 Mbit/s", "54 Mbit/s"),
    method=st.fixed_dictionaries(
        {
            "repeats": st.integers(1, 3),
            "discard_first": st.integers(0, 2),
            "duration": st.just(1),
            "seed": st.integers(0, 2**53 - 1),
        }
    ),
)


@settings(max_examples=60)
@given(STUDIES)
def test_blocks_are_paired_whole_and_contiguous(made: Study) -> None:
    plan = expand(made)
    assert [run.order for run in plan.runs] == list(range(1, len(plan.runs) + 1))
    blocks = [list(runs) for _, runs in groupby(plan.runs, key=lambda run: run.block)]
    assert [block[0].block for block in blocks] == list(range(1, len(blocks) + 1))
    for block in blocks:
        assert sorted(run.cell.security for run in block) == sorted(made.factors.security)
        assert len({run.cell.model_copy(update={"security": "open"}) for run in block}) == 1
        assert len({(run.replicate, run.discard, run.seed) for run in block}) == 1
    assert len({block[0].seed for block in blocks}) == len(blocks)


@settings(max_examples=60)
@given(STUDIES)
def test_each_round_has_every_cell_once_and_the_first_rounds_are_discarded(made: Study) -> None:
    plan = expand(made)
    every = Counter(product(*(getattr(made.factors, name) for name in FACTORS)))
    rounds = [(number, list(runs)) for number, runs in groupby(plan.runs, key=lambda run: run.replicate)]
    assert [number for number, _ in rounds] == list(
        range(1, made.method.discard_first + made.method.repeats + 1)
    )
    for number, runs in rounds:
        assert Counter(tuple(getattr(run.cell, name) for name in FACTORS) for run in runs) == every
        assert {run.discard for run in runs} == {number <= made.method.discard_first}
    assert len({run.id for run in plan.runs}) == len(plan.runs)
    assert [run.id for run in plan.runs] == sorted(run.id for run in plan.runs)


@settings(max_examples=30)
@given(STUDIES, st.randoms(use_true_random=False))
def test_the_order_of_levels_in_the_file_does_not_matter(made: Study, random: Any) -> None:
    shuffled = {
        name: random.sample(levels, len(levels)) for name, levels in made.factors.model_dump().items()
    }
    other = made.model_copy(update={"factors": type(made.factors).model_validate(shuffled)})
    assert expand(other) == expand(made)


@settings(max_examples=30)
@given(STUDIES)
def test_a_plan_survives_json(made: Study) -> None:
    plan = expand(made)
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


def test_the_plan_of_the_quickstart_is_the_same_on_every_machine() -> None:
    # Recorded with the first version: with another order, --resume would repeat or miss runs of older results.
    plan = expand(load_study(find_study("quickstart")))
    assert len(plan.runs) == 48
    assert [run.id for run in plan.runs[:4]] == [
        "0001-tcp-ipv4-128-ccmp",
        "0002-tcp-ipv4-128-open",
        "0003-udp-ipv6-128-ccmp",
        "0004-udp-ipv6-128-open",
    ]
    assert plan.runs[0].seed == plan.runs[1].seed == 6089060219264807
    assert {run.cell.lab for run in plan.runs} == {"air"}


def test_a_run_seed_follows_the_documented_formula() -> None:
    # The first 53 bits of: printf 'airtoll plan 1 seed 7 1\nbandwidth=20 MHz\n...' | sha256sum
    levels = "bandwidth=20 MHz\ngi=long\nip=ipv4\npacket_size=128 B\nphy=ofdm\nrate=54 Mbit/s"
    text = f"airtoll plan 1 seed 7 1\n{levels}\ntopology=point-to-point\ntransport=udp"
    seed = int(hashlib.sha256(text.encode()).hexdigest(), 16) >> (256 - 53)
    assert expand(study(method={"seed": 7})).runs[0].seed == seed


def test_a_later_factor_at_its_default_changes_neither_order_nor_seeds() -> None:
    sizes = [16, 64, 128, 256]
    defaults = {name: [default] for name, default in LATER_FACTORS.items()}
    assert expand(study(packet_size=sizes, **defaults)) == expand(study(packet_size=sizes))


def test_a_new_level_of_a_later_factor_does_not_change_runs_at_its_default() -> None:
    before = expand(study(packet_size=[16, 64], method={"seed": 7}))
    after = expand(study(packet_size=[16, 64], snr=["none", 20], method={"seed": 7}))
    seeds = {(run.replicate, run.cell): run.seed for run in after.runs}
    assert len(seeds) == 2 * len(before.runs)
    assert {(run.replicate, run.cell): run.seed for run in before.runs}.items() <= seeds.items()
    noisy = {run.seed for run in after.runs if run.cell.snr == 20.0}
    assert not noisy & {run.seed for run in before.runs}


def test_the_settings_of_the_link_change_neither_order_nor_seeds() -> None:
    made = study(packet_size=[16, 64])
    plain, fair = expand(made), expand(made.model_copy(update={"link": LinkSettings(queue="fq_codel")}))
    assert fair.link.given() == {"queue": "fq_codel"}
    assert fair.runs == plain.runs


def test_the_digest_names_a_later_factor_with_its_unit() -> None:
    levels = "bandwidth=20 MHz\ngi=long\nip=ipv4\npacket_size=128 B\nphy=ofdm\nrate=54 Mbit/s\nsnr=20.5 dB"
    text = f"airtoll plan 1 seed 7 1\n{levels}\ntopology=point-to-point\ntransport=udp"
    seed = int(hashlib.sha256(text.encode()).hexdigest(), 16) >> (256 - 53)
    assert expand(study(snr=["20.5 dB"], method={"seed": 7})).runs[0].seed == seed


def test_another_lab_keeps_order_and_seeds() -> None:
    made = study(packet_size=[128, 1408])
    here, there = expand(made), expand(made, lab="linux")
    assert {run.cell.lab for run in there.runs} == {"linux"}
    assert [(run.id, run.seed) for run in here.runs] == [(run.id, run.seed) for run in there.runs]


def test_the_seed_changes_order_and_run_seeds() -> None:
    sizes = [16, 64, 128, 256, 512, 1408]
    first, second = (expand(study(packet_size=sizes, method={"seed": seed})) for seed in (1, 2))
    assert [run.id for run in first.runs] != [run.id for run in second.runs]
    assert not {run.seed for run in first.runs} & {run.seed for run in second.runs}


def test_rounds_of_one_plan_are_shuffled_apart() -> None:
    plan = expand(study(packet_size=[16, 64, 128, 256, 512, 1408], method={"repeats": 2}))
    rounds = [[r.cell.packet_size for r in plan.runs if r.replicate == n] for n in (1, 2)]
    assert rounds[0] != rounds[1]


@pytest.mark.parametrize(
    ("factor", "levels"),
    [
        ("security", ["open", "ccmp"]),
        ("security", ["open", "tkip", "ccmp"]),
        ("packet_size", [16, 128, 512, 1408]),
    ],
)
def test_every_order_is_as_likely_as_any_other(factor: str, levels: list[Any]) -> None:
    # Over 1000 rounds, all permutations of the levels occur; the seed is fixed, so the test is deterministic.
    factors: dict[str, Any] = {"security": ["open"], factor: levels}
    plan = expand(study(**factors, method={"repeats": 1000}))
    counts: Counter[tuple[Any, ...]] = Counter(
        tuple(getattr(run.cell, factor) for run in runs)
        for _, runs in groupby(plan.runs, key=lambda r: r.replicate)
    )
    orders = {2: 2, 3: 6, 4: 24}[len(levels)]
    assert len(counts) == orders
    assert scipy.stats.chisquare(list(counts.values())).pvalue > 0.01


def test_security_is_shuffled_independently_in_neighbouring_blocks() -> None:
    plan = expand(study(packet_size=[128, 1408], method={"repeats": 1000}))
    firsts = {run.block: run.cell.security for run in reversed(plan.runs)}  # each block's first run remains
    pairs = Counter((firsts[block], firsts[block + 1]) for block in range(1, 2000, 2))
    assert len(pairs) == 4
    assert scipy.stats.chisquare(list(pairs.values())).pvalue > 0.01


def test_quick_changes_only_the_keys_of_its_table() -> None:
    made = study(
        quick={"repeats": 1, "duration": "500 ms", "factors": {"packet_size": [1408]}},
        packet_size=[128, 1408],
        method={"repeats": 3, "discard_first": 1, "warmup": 0.3, "seed": 5},
    )
    full, quick = expand(made), expand(made, quick=True)
    assert quick.method == full.method.model_copy(update={"repeats": 1, "duration": 0.5})
    assert (quick.method.discard_first, quick.method.warmup, quick.method.seed) == (1, 0.3, 5)
    assert {run.cell.packet_size for run in quick.runs} == {1408}
    assert len(quick.runs) == 4
    assert {(r.cell, r.replicate, r.seed) for r in quick.runs} <= {
        (r.cell, r.replicate, r.seed) for r in full.runs
    }


def test_a_study_without_a_quick_table_has_no_quick_run() -> None:
    with pytest.raises(UsageError, match=r"^made\.toml: quick: missing table; only a study with \[quick\]"):
        expand(study(), quick=True)


def test_a_description_has_columns_for_varied_factors_and_lists_the_others_once() -> None:
    plan = expand(study(packet_size=[128, 1408], method={"repeats": 2, "discard_first": 1}))
    about = describe(plan)
    assert about.columns == ("security", "packet_size")
    assert about.constants == {
        "lab": "air",
        "transport": "udp",
        "ip": "ipv4",
        "phy": "ofdm",
        "rate": "54 Mbit/s",
        "bandwidth": "20 MHz",
        "gi": "long",
        "topology": "point-to-point",
    }
    assert (about.cells, about.blocks, about.discarded, len(about.rows)) == (4, 6, 4, 12)
    for run, row in zip(plan.runs, about.rows, strict=True):
        assert (row.order, row.block, row.replicate, row.discard) == (
            run.order,
            run.block,
            run.replicate,
            run.discard,
        )
        assert row.levels == (run.cell.security, f"{run.cell.packet_size} B")
        assert levels_of(run.cell) == {**about.constants, **dict(zip(about.columns, row.levels, strict=True))}


def test_the_estimate_counts_both_probes_windows_and_the_overhead_of_every_run() -> None:
    plan = expand(study(method={"repeats": 5, "duration": 2, "warmup": 0.5}))
    assert estimate_s(plan, overhead_s=0) == pytest.approx(10 * 2 * 2.5)
    assert estimate_s(plan, overhead_s=1.5) == pytest.approx(10 * (5 + 1.5))
    assert describe(plan, overhead_s=0).estimate_s == estimate_s(plan, overhead_s=0)


def test_the_quickstart_is_estimated_at_less_than_three_minutes() -> None:
    assert estimate_s(expand(load_study(find_study("quickstart")))) < 180


def test_where_udp_takes_its_load_from_tcp_all_rounds_of_tcp_come_first() -> None:
    made = study(transport=["udp", "tcp"], method={"repeats": 2, "udp_load": "tcp"})
    transports = [run.cell.transport for run in expand(made).runs]
    assert transports == ["tcp"] * (len(transports) // 2) + ["udp"] * (len(transports) // 2)


def test_the_estimate_counts_a_probe_only_where_it_measures() -> None:
    made = study(
        transport=["udp", "tcp"], method={"repeats": 1, "warmup": 0, "probes": ["throughput", "ftp"]}
    )
    per_window = made.method.duration
    runs_of_a_transport = len(expand(made).runs) // 2
    assert estimate_s(expand(made), overhead_s=0) == pytest.approx(3 * runs_of_a_transport * per_window)


@pytest.mark.parametrize(
    ("crypto_at", "security", "place"),
    [
        ("by-suite", "open", "card"),
        ("by-suite", "ccmp", "card"),
        ("by-suite", "enhanced2", "host"),
        ("card", "enhanced2", "card"),
        ("host", "ccmp", "host"),
    ],
)
def test_by_suite_seals_by_the_card_but_for_enhanced_frames(
    crypto_at: str, security: str, place: str
) -> None:
    runs = expand(study(security=[security], crypto_at=[crypto_at])).runs
    assert {run.cell.sealed_at for run in runs} == {place}


@pytest.mark.parametrize(
    ("metric", "lab", "clock", "error"),
    [
        (
            "cpu_crypto",
            "sim",
            None,
            "lab sim cannot measure cpu_crypto, because it has no hosts: use lab air",
        ),
        ("responsiveness_up", "sim", None, "lab sim cannot measure responsiveness_up"),
        ("energy", "air", "virtual", "energy cannot be measured in virtual time: use clock real"),
        ("mic_time", "linux", None, "mic_time cannot be measured in virtual time"),
    ],
)
def test_a_metric_that_the_lab_cannot_measure_is_refused(
    metric: str, lab: str, clock: Clock | None, error: str
) -> None:
    claim = {"kind": "ordering", "metric": metric, "factor": "security", "better": "open", "worse": "ccmp"}
    method = {"probes": ["throughput", "responsiveness", "engine"]}
    made = study(method=method, transport=["tcp"])
    for key, asked in (
        ("primary", made.model_copy(update={"primary": metric})),
        ("claim[0].metric", made.model_copy(update={"claim": (ClaimTable(**claim),)})),
    ):
        assert expand(asked, lab="air", clock="real").runs
        with pytest.raises(UsageError) as caught:
            expand(asked, lab=lab, clock=clock)
        assert str(caught.value).startswith(f"made.toml: {key}: {error}")
        assert "\n" not in str(caught.value)
