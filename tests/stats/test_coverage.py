"""Intervals have their nominal coverage: the simulation of benches/coverage.py with fewer experiments."""

import importlib.util
import math
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

EXPERIMENTS = 500
BENCHES = Path(__file__).resolve().parents[2] / "benches"


@cache
def bench() -> ModuleType:
    """The module benches/coverage.py, loaded by path because the package coverage may be installed."""
    spec = importlib.util.spec_from_file_location("airtoll_coverage_bench", BENCHES / "coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module
    sys.path.insert(0, str(BENCHES))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHES))
    return module


def bound(share: float) -> float:
    """Four standard errors of a share of the experiments: about one false alarm in 16,000 checks."""
    return 100 * 4 * math.sqrt(share * (1 - share) / EXPERIMENTS)


@pytest.mark.parametrize("n", [3, 5, 20])
def test_intervals_of_normal_runs_have_their_nominal_coverage(n: int) -> None:
    found = bench().simulated(bench().normal, n, EXPERIMENTS, bca=False)
    off = {name: one.percent - 95 for name, one in found.items() if abs(one.percent - 95) > bound(0.95)}
    assert off == {}


def test_the_bootstrap_of_few_runs_has_low_coverage() -> None:
    found = bench().simulated(bench().normal, 5, EXPERIMENTS)
    assert 84 - bound(0.84) < found["mean, BCa"].percent < 84 + bound(0.84)
    assert found["mean, BCa"].percent < found["mean, t"].percent


def test_skewed_runs_do_not_spoil_the_t_interval() -> None:
    found = bench().simulated(bench().skewed, 5, EXPERIMENTS, bca=False)
    assert all(one.percent > 93 - bound(0.93) for one in found.values())


def test_stopping_at_a_precision_reduces_coverage_only_after_an_early_first_look() -> None:
    b = bench()
    wide = b.wider(b.normal, 2.0)
    early, _, _ = b.stopped(b.Precision(5.0, 95.0, 3, 30), wide, EXPERIMENTS)
    late, runs, (least, most) = b.stopped(b.Precision(5.0, 95.0, 10, 30), wide, EXPERIMENTS)
    assert early.percent < 93
    assert abs(late.percent - 95) < bound(0.95)
    assert least == 10 <= runs <= most <= 30


def test_no_more_than_one_in_twenty_is_called_equivalent_at_the_margin() -> None:
    found = bench().verdicts(20, 0.99, EXPERIMENTS)
    assert found["equivalent"] + found["both"] < 5 + bound(0.05)
    assert bench().verdicts(40, 1.0, EXPERIMENTS)["equivalent"] > 90


def test_intervals_over_sessions_have_their_nominal_coverage_and_those_over_runs_do_not() -> None:
    found = bench().in_sessions(bench().normal, 4, EXPERIMENTS)
    over_sessions = {name: one.percent for name, one in found.items() if name.endswith("over sessions")}
    over_runs = {name: one.percent for name, one in found.items() if name.endswith("over runs")}
    assert {name: one for name, one in over_sessions.items() if abs(one - 95) > bound(0.95)} == {}
    assert len(over_sessions) == len(over_runs) == 5
    assert max(over_runs.values()) < 85


def test_a_steady_drift_does_not_spoil_intervals_over_sessions() -> None:
    found = bench().in_sessions(bench().skewed, 4, EXPERIMENTS, drift=0.1)
    assert found["paired ratio, over sessions"].percent > 95 - bound(0.95)
    assert found["matched ratio, over sessions"].percent > 95 - bound(0.95)
