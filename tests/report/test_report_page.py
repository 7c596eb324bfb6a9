"""The HTML page: self-contained, complete, safe to open, and consistent with the statistics."""

import base64
import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from report_fakes import FEW_FLOWS, Make, make_plan, make_record, make_samples

from airtoll.probes.base import Sample
from airtoll.report import write_report
from airtoll.report.material.data import ReportData
from airtoll.report.material.rows import build
from airtoll.report.parts import answer
from airtoll.stats import METRICS
from airtoll.store import Result
from airtoll.study.cell import Run

LOADING = {
    "src",
    "srcset",
    "href",
    "data",
    "action",
    "formaction",
    "poster",
    "background",
    "xlink:href",
    "ping",
}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """A parsed page: elements in order, each with its direct text."""

    elements: list[Element] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.current: Element | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.current = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(self.current)

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the base class names it
        self.current = None

    def handle_data(self, data: str) -> None:
        if self.current is not None:
            self.current.text += data
        if self.current is None or self.current.tag not in ("script", "style"):
            self.text += data

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    @property
    def config(self) -> dict[str, Any]:
        """The data of the scripts: charts and runs."""
        found: dict[str, Any] = json.loads(self.with_id("config").text)
        return found

    @property
    def links(self) -> list[str]:
        """The links to stored files that the script makes for the list of runs."""
        runs = self.config["runs"]
        return [
            f"{runs['base']}runs/{run['id']}/{name}"
            for run in runs["rows"]
            if "run" in run
            for name in runs["files"][run["files"]]
        ]

    def with_id(self, name: str) -> Element:
        (element,) = [e for e in self.elements if e.attributes.get("id") == name]
        return element


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


@pytest.fixture(scope="module")
def html(quickstart: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(quickstart, tmp_path_factory.mktemp("page")).html


@pytest.fixture(scope="module")
def page(html: Path) -> Page:
    return read(html)


def written(result: Result) -> Page:
    return read(write_report(result, result.directory).html)


def test_the_page_loads_no_external_resource(page: Page) -> None:
    for element in page.elements:
        for name in LOADING & element.attributes.keys():
            assert element.tag == "a", f"<{element.tag} {name}> loads {element.attributes[name]}"
            assert element.attributes[name].startswith(("#", "./"))
    assert not page.all("link")
    assert not page.all("iframe")
    for style in page.all("style"):
        assert not re.search(r"@import|url\(", style.text)


def test_its_policy_forbids_loading_and_names_every_script(page: Page) -> None:
    (policy,) = [m.attributes["content"] for m in page.all("meta") if "http-equiv" in m.attributes]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert "connect-src" not in directives
    assert "'unsafe" not in directives["script-src"]
    scripts = [s.text for s in page.all("script") if s.attributes.get("type") != "application/json"]
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert directives["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]


def test_every_run_can_be_reached_with_all_of_its_files(page: Page, quickstart: Result) -> None:
    assert [run["id"] for run in page.config["runs"]["rows"]] == [run.id for run in quickstart.plan.runs]
    links = set(map(unquote, page.links))
    stored = {path for path in (quickstart.directory / "runs").rglob("*") if path.is_file()}
    assert len(links) == len(stored)
    for link in links:
        assert any(str(path).endswith(link.rpartition("../")[2]) for path in stored)


def test_links_lead_from_the_report_to_the_record(make: Make, tmp_path: Path) -> None:
    result = make(make_plan(repeats=1, **FEW_FLOWS))
    for directory in (result.directory, tmp_path / "else where" / "deep"):
        paths = write_report(result, directory)
        links = read(paths.html).links
        assert links
        assert all((directory / unquote(link)).is_file() for link in links)


def test_the_table_has_the_numbers_of_statistics(page: Page, quickstart: Result) -> None:
    data = ReportData.of(quickstart)
    table = build(data)
    assert len(table.rows) == len(data.comparison.pairs) - 2 * 4  # only UDP has jitter and loss
    words = " ".join(page.text.split())
    for row in table.rows:
        assert row.pair is not None
        shown = row.metric.display
        mean = row.baseline.summary.mean
        if mean is not None:
            assert float(row.mean(row.baseline)) == pytest.approx(shown(mean), abs=10**-row.metric.decimals)
        if row.pair.difference.mean is not None:
            difference = float(row.difference.replace("\N{MINUS SIGN}", "-"))
            assert difference == pytest.approx(shown(row.pair.difference.mean), abs=10**-row.metric.decimals)
        assert f"{row.difference} {row.difference_ci}".strip() in words
        assert f"{row.change} {row.change_ci}".strip() in words


def test_the_page_begins_with_the_answer(page: Page, quickstart: Result) -> None:
    found = answer.find(ReportData.of(quickstart))
    shown = [page.all("h1")[0], *(p for p in page.all("p") if p.attributes.get("class") == "answer")]
    sentences = [element.text for element in shown]
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in sentences] == [found.headline, *found.others]
    assert not re.search(r"\d %", " ".join(sentences)), "a line ends between a number and its unit"


def test_invalid_runs_are_listed_with_every_reason(page: Page, quickstart: Result) -> None:
    invalid = [record for record in quickstart.records() if not record.verdict.valid]
    assert len(invalid) == 3
    for record in invalid:
        assert f"#run-{record.run.id}" in [a.attributes["href"] for a in page.all("a")]
        assert all(reason in page.text for reason in record.verdict.reasons)
    assert "48 runs planned, 45 counted; left out: 3 invalid." in page.text


def test_charts_hold_runs_and_cells_but_no_samples(page: Page, quickstart: Result) -> None:
    charts = page.config["charts"]
    assert {"chart-throughput-0", "chart-rtt-1", "chart-change-loss"} <= charts.keys()
    for name, spec in charts.items():
        assert page.with_id(name)
        rows = json.dumps(spec).count('"security":')
        assert rows < 2 * len(quickstart.plan.runs)


def test_changes_of_percentages_are_in_percentage_points(page: Page) -> None:
    charts = page.config["charts"]
    for name, unit in (("cpu_hosts", "percentage points"), ("throughput", "%")):
        assert f'"Change, {unit} (' in json.dumps(charts[f"chart-change-{name}"])


def test_charts_and_tables_have_accessible_descriptions(page: Page) -> None:
    groups = [e for e in page.elements if e.attributes.get("role") == "group"]
    assert groups
    for group in groups:
        assert re.search(r"\d", group.attributes["aria-label"])
    for table_header in page.all("th"):
        assert table_header.attributes["scope"] in ("col", "row", "rowgroup")


EVIL = '<img src=x onerror="alert(1)"></script><script>alert(2)</script>'


def test_text_from_files_is_escaped(make: Make) -> None:
    plan = make_plan(repeats=2, study=EVIL, **FEW_FLOWS)
    evil_lab = [
        run.model_copy(update={"cell": run.cell.model_copy(update={"lab": EVIL})}) for run in plan.runs
    ]
    result = make(
        plan.model_copy(update={"runs": tuple(evil_lab)}),
        study_text=f"title = '''{EVIL}'''\n",
        invalid=lambda run: [f"probe fault: {EVIL}"] if run.order == 1 else [],
        lab=EVIL,
        link={"cipher": EVIL, EVIL: EVIL, "list": [EVIL]},
        counters={EVIL: EVIL},
    )
    page = written(result)
    assert not page.all("img")
    code = [script for script in page.all("script") if script.attributes.get("id") != "config"]
    assert sum("alert(2)" in script.text for script in code) == 0
    assert page.text.count(EVIL) > 2
    assert json.dumps(page.config["runs"]).count(json.dumps(EVIL)[1:-1]) > 5
    markdown = (result.directory / "report.md").read_text()
    assert "<img" not in markdown
    assert "<script" not in markdown


def test_a_level_named_like_markup_stays_text_in_charts(make: Make) -> None:
    plan = make_plan(repeats=2, rates=("54 Mbit/s", f"12 {EVIL}"), **FEW_FLOWS)
    page = written(make(plan, invalid=lambda _: ()))
    config = page.with_id("config").text
    assert "</script" not in config
    assert "54 Mbit/s" in config


def test_a_report_without_finished_runs(make: Make) -> None:
    page = written(make(finished=lambda _: False))
    assert page.all("h1")[0].text == "None of 48 planned runs is finished: there is nothing to report yet."
    assert len(page.config["runs"]["rows"]) == 48
    assert page.links == []


def test_finished_runs_without_hosts_have_an_environment(make: Make) -> None:
    """A result of lab sim in the form of earlier versions."""
    page = written(
        make(
            make_plan(repeats=2, **FEW_FLOWS),
            invalid=lambda _: (),
            lab="sim",
            hosts={},
            link={"simulated": True},
        )
    )
    assert "No run is finished" not in page.text
    assert {"Versions", "Link"} <= {heading.text for heading in page.all("h3")}


def test_runs_that_were_all_passed_over_are_finished(make: Make) -> None:
    why = ["no load: no valid TCP run of the same cell"]
    page = written(
        make(make_plan(repeats=2), invalid=lambda _: why, hosts={}, link={}, probes={}, counters={})
    )
    assert "No run is finished" not in page.text
    assert "Versions" in {heading.text for heading in page.all("h3")}


def test_no_run_is_valid(make: Make) -> None:
    page = written(make(invalid=lambda run: [f"emulation late: p99 of the lateness {run.order} us"]))
    assert page.all("h1")[0].text == "No run is counted, so there are no figures: 48 invalid."
    assert not page.config["charts"]


def test_a_single_security_level(make: Make) -> None:
    page = written(make(make_plan(levels=("ccmp",), **FEW_FLOWS), invalid=lambda _: ()))
    assert "There is no other security level to compare it with." in page.all("h1")[0].text
    assert "Difference" not in page.text
    charts = page.config["charts"]
    assert not any("change" in name for name in charts)
    assert "chart-throughput-0" in charts


def test_a_metric_that_was_not_measured_is_absent(make: Make) -> None:
    def without_rtt(run: Run) -> list[Sample]:
        return make_samples(run, round_trips=0)

    page = written(make(make_plan(**FEW_FLOWS), samples=without_rtt))
    assert METRICS["rtt"].title not in page.text
    assert METRICS["throughput"].title in page.text


def test_a_metric_that_some_runs_lack_is_missing_not_zero(make: Make) -> None:
    def some(run: Run) -> list[Sample]:
        return make_samples(run, round_trips=0 if run.cell.security == "ccmp" else 120)

    result = make(make_plan(**FEW_FLOWS), samples=some, invalid=lambda _: ())
    (row,) = [
        row
        for row in build(ReportData.of(result)).rows
        if (row.flow, row.metric.name) == ("UDP IPv4 1408 B", "rtt")
    ]
    assert (row.mean(row.other), row.difference, row.change, row.pairs) == ("\N{EN DASH}",) * 3 + ("0 of 3",)
    assert written(result)


def test_one_replicate_has_numbers_and_no_intervals(make: Make) -> None:
    page = written(make(make_plan(repeats=1), invalid=lambda _: ()))
    assert page.all("h1")[0].text.endswith("a single pair of runs has no interval.")
    assert "\N{PLUS-MINUS SIGN} half" in page.text
    assert not re.search(r"\[[+\N{MINUS SIGN}]?\d", page.text.partition("Method")[0])


def test_discarded_replicates_are_shown_and_do_not_count(make: Make) -> None:
    page = written(make(make_plan(discard_first=1, repeats=2), invalid=lambda _: ()))
    assert "48 runs planned, 32 counted; left out: 16 discarded." in page.text
    states = [run["state"] for run in page.config["runs"]["rows"]]
    assert states.count("discarded") == 16


def test_several_levels_and_rates_have_separate_rows(make: Make) -> None:
    levels, rates = ("open", "ccmp", "gcmp"), ("6 Mbit/s", "54 Mbit/s")
    plan = make_plan(levels=levels, rates=rates, ips=("ipv4",), repeats=2)
    result = make(plan, invalid=lambda _: ())
    table = build(ReportData.of(result))
    assert table.levels == ("ccmp", "gcmp")
    flows = list(table.by_flow())
    assert len(flows) == len(set(flows)) == 8
    assert flows[0] == "TCP IPv4 128 B, 6 Mbit/s"
    assert "GCMP" in written(result).text


def test_the_same_result_gives_the_same_report(quickstart: Result, html: Path, tmp_path: Path) -> None:
    for again in vars(write_report(quickstart, tmp_path)).values():
        assert again.read_bytes() == (html.parent / again.name).read_bytes()


def test_a_hundred_thousand_samples_make_a_small_page_in_seconds(make: Make) -> None:
    result = make(samples=lambda run: make_samples(run, round_trips=2100))
    assert sum(map(len, result.samples())) > 100_000
    began = time.process_time()
    paths = write_report(result, result.directory)
    assert time.process_time() - began < 10
    assert paths.html.stat().st_size < 2_000_000


def test_ten_thousand_runs_make_a_page_below_eight_megabytes(ten_thousand: Path) -> None:
    assert ten_thousand.stat().st_size < 8_000_000
    page = read(ten_thousand)
    assert len(page.config["runs"]["rows"]) == 10_000
    assert not any(chart["datasets"].get("dots") for chart in page.config["charts"].values())
    assert "Small dots" not in page.text
    invalid = [a for a in page.all("a") if a.attributes["href"].startswith("#run-")]
    assert len(invalid) == 20
    assert "980 more invalid runs: filter the list of runs by their state." in page.text


def test_printing_a_table_does_not_import_charts() -> None:
    code = (
        "import sys, airtoll.report;"
        "print([m for m in ('altair', 'vl_convert', 'jinja2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_hosts_that_are_one_machine_are_described_once(page: Page) -> None:
    headings: Sequence[str] = [h.text for h in page.all("h3")]
    assert "Hosts ap, sta" in headings
    assert "Host ap" not in headings


def test_facts_that_differ_between_runs_are_listed_per_run(make: Make) -> None:
    plan = make_plan(repeats=1, **FEW_FLOWS)
    page = written(make(plan, invalid=lambda _: ()))
    assert "Differs between runs: cipher, predicted_bit_per_s." in page.text
    record = make_record(plan.runs[0])
    facts = page.config["runs"]["rows"][0]["facts"]
    assert str(record.counters["mpdus"]) in {value for of in facts.values() for value in of.values()}
