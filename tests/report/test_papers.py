"""The Markdown pages that compare papers with the results of their studies."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from report_fakes import exactly, make_plan, store

from airtoll.errors import UsageError
from airtoll.published import published
from airtoll.report import write_papers, write_report
from airtoll.report.material.data import ReportData
from airtoll.report.parts.claims import Claims
from airtoll.store import Result
from airtoll.study.cell import Run
from airtoll.study.factors import LATER_FACTORS

NAME = "kolahi-11n-udp"


def throughput(run: Run) -> float:
    return 1e8 * (0.8 if run.cell.security == "ccmp" else 1.0) * (1 + 0.001 * run.replicate)


def stored(directory: Path, lab: str = "sim") -> Result:
    """A result of the study over 802.11n, in which CCMP costs a fifth of the throughput."""
    factors = {"phy": ("ht",), "bandwidth": (40,), "topology": ("wired-ap",), "gi": ("long",)}
    plan = make_plan(sizes=(384, 896), rates=("mcs15",), transports=("udp",), study=NAME, factors=factors)
    samples = exactly(throughput=throughput)
    return store(directory, plan, samples=samples, invalid=lambda _: (), lab=lab, link={})


def aged(result: Result, version: int) -> Result:
    """The result as an earlier version of airtoll stored it: without the keys that came later."""
    for path in [result.directory / "plan.json", *result.directory.glob("runs/*/run.json")]:
        old = json.loads(path.read_text())
        old["schema_version"] = version
        plan = old.get("plan", {})
        for run in plan.get("runs", []) or [old["run"]]:
            for name in LATER_FACTORS:
                run["cell"].pop(name, None)
            for name in ("session", "attempt"):
                del run[name]
        for name in ("switching", "sessions", "retries"):
            plan.get("method", {}).pop(name, None)
        for name in ("link", "stacks", "profiles", "clock", "radios"):
            plan.pop(name, None)
        old.pop("machine", None)
        path.chmod(0o644)
        path.write_text(json.dumps(old))
    return Result.open(result.directory)


def test_the_results_of_a_paper_share_a_page_with_their_origins(tmp_path: Path) -> None:
    results = [stored(tmp_path / "sim"), stored(tmp_path / "imported", lab="imported")]
    (path,) = write_papers(results, tmp_path / "pages")
    assert path == tmp_path / "pages" / f"{NAME}.md"
    page = path.read_text(encoding="utf-8")
    assert page.startswith("# Kolahi et al.: published, measured and predicted\n")
    assert re.findall("^## (.*)$", page, re.MULTILINE) == ["Lab sim", "Imported runs"]
    of_sim, imported = page.split("\n## ")[1:]
    for section, values in ((of_sim, "simulated"), (imported, "measured")):
        facts = dict(re.findall(r"^\| (\w[\w ]*) \| (.*) \|$", section, re.MULTILINE))
        assert facts["Values"] == values
        assert facts["Replicates per cell"] == "3"
        assert facts["Runs"] == "24 planned, 24 counted"
        assert facts["Card"] == "none: hosts encrypt the frames"
        assert facts["airtoll"] == "0.1.0"
    assert "Simulated here" in of_sim
    assert "Measured here" in imported


def test_every_claim_of_the_paper_has_a_row_with_its_verdict(tmp_path: Path) -> None:
    result = stored(tmp_path / "r")
    data = ReportData.of(result)
    page = write_papers([result], tmp_path / "pages")[0].read_text(encoding="utf-8")
    judged = Claims(data, published(NAME)).judged
    assert len(judged) > 10
    for one in judged:
        words = re.escape(one.statement.words(data.fixed))
        assert re.search(rf"^\| {words} \| .*\| {one.verdict} \|", page, re.MULTILINE)


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_results_of_earlier_versions_have_the_claims_and_the_page(tmp_path: Path, version: int) -> None:
    new = stored(tmp_path / "new")
    old = aged(stored(tmp_path / "old"), version)
    assert old.plan_record.schema_version == version
    pages = [write_papers([one], tmp_path / name)[0].read_text() for one, name in ((new, "a"), (old, "b"))]
    assert pages[0] == pages[1]
    report = write_report(old, tmp_path / "report").markdown.read_text()
    assert "## Claims of the paper" in report
    assert report.split("\n\n")[1].startswith("**CCMP costs 20.00 %")


def test_a_result_without_a_paper_is_refused_in_one_line(
    tmp_path: Path, airtoll: Callable[..., tuple[int, str, str]]
) -> None:
    result = store(tmp_path / "r", make_plan(repeats=1))
    with pytest.raises(UsageError, match="--pages requires results of studies that repeat a paper"):
        write_papers([result], tmp_path / "pages")
    status, _, err = airtoll("report", result.directory, "--pages", tmp_path / "pages")
    assert status == 2
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "pages").exists()
