"""The data of each paper have a reason for the claims about security that the model contradicts, and for no others."""

from pathlib import Path

import pytest

from airtoll.labs import open_lab
from airtoll.probes import probes_of
from airtoll.published import MeasuredClaim, names, published
from airtoll.report.material.data import ReportData
from airtoll.report.parts.claims import Claims, Judged
from airtoll.store import Result, record
from airtoll.study import expand, find_study, load_study


def is_undecided(one: Judged) -> bool:
    """Whether the scatter of the simulated runs leaves open if the model agrees."""
    ci = one.measured.interval
    limits = (-one.limit, one.limit) if one.statement.direction == "equal" else (0.0,)
    return ci is None or any(ci.low < limit < ci.high for limit in limits)


@pytest.mark.parametrize("name", names())
def test_the_claims_with_a_reason_are_those_that_the_model_contradicts(name: str, tmp_path: Path) -> None:
    study = load_study(find_study(name))
    plan = expand(study, lab="sim", quick=True)
    lab = open_lab("sim", plan)
    with Result.create(tmp_path / "result", study.text, plan, lab.name, quick=True) as result:
        record(result, lab, probes_of(plan.method.probes, lab.name, plan.clock), lambda _: None)
    data = ReportData.of(Result.open(tmp_path / "result"))
    every = Claims(data, published(name))
    rows = [one.statement.words(data.fixed) for one in every.judged]
    assert len(set(rows)) == len(rows)  # a claim that the paper repeats is one row
    claims = every.of_security
    explained = {
        claim.id
        for claim in published(name).claims
        if isinstance(claim, MeasuredClaim) and claim.disagreement is not None
    }
    contradicted = [one for one in claims if one.model_disagrees]
    missing = [one.ids for one in contradicted if not is_undecided(one) and not explained.issuperset(one.ids)]
    assert not missing
    open_to_doubt = {each for one in claims if one.model_disagrees or is_undecided(one) for each in one.ids}
    assert explained <= open_to_doubt
