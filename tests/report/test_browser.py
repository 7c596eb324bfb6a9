"""The page in a browser: charts under the content security policy, narrow screens, and the list of runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, chromium, needs_chromium
from report_fakes import make_plan, store

from airtoll.report import write_report
from airtoll.store import Result

pytestmark = needs_chromium

CUT_OFF = """
[...document.querySelectorAll(".chart")].flatMap((chart) => {
  const frame = chart.getBoundingClientRect();
  return [...chart.querySelectorAll("svg.marks text, .role-legend")].filter((part) => {
    const place = part.getBoundingClientRect();
    return place.left < frame.left || place.right > frame.right || place.top < frame.top || place.bottom > frame.bottom;
  }).map((part) => chart.firstElementChild.id + ": " + part.textContent);
})
"""
"""The texts and legends of charts that reach out of their frame."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def test_every_chart_is_drawn_and_folded_charts_when_they_open(
    browser: Browser, quickstart: Result, tmp_path: Path
) -> None:
    browser.open(write_report(quickstart, tmp_path).html, 1280)
    count = browser.evaluate("Object.keys(JSON.parse(config.textContent).charts).length")
    drawn = "document.querySelectorAll('svg.marks').length"
    assert browser.evaluate(drawn) == count - 6  # two folded metrics: TCP, UDP, and the change
    browser.evaluate("for (const part of document.querySelectorAll('details.card')) part.open = true")
    browser.wait_until(f"{drawn} === {count}")
    assert "cannot be drawn" not in browser.evaluate("document.querySelector('main').textContent")
    assert browser.evaluate("document.getElementById('runs-status').textContent") == "48 runs"
    browser.evaluate("document.querySelector('#runs-table button').click()")
    links = browser.evaluate("[...document.querySelectorAll('.links a')].map((link) => link.href)")
    assert len(links) == 5
    assert all(Path(link.removeprefix("file://")).is_file() for link in links)


@pytest.mark.parametrize("width_px", [400, 1280])
def test_no_legend_or_title_is_cut_off(browser: Browser, tmp_path: Path, width_px: int) -> None:
    """Many levels with long names, beside published and predicted values."""
    plan = make_plan(
        levels=("open", "wep104", "tkip", "ccmp", "enhanced4"),
        sizes=(128, 512, 1024, 1408),
        repeats=2,
        transports=("udp",),
        rates=("mcs7",),
        study="hayajneh-enhanced",
    )
    result = store(tmp_path / "result", plan, invalid=lambda _: ())
    browser.open(write_report(result, tmp_path).html, width_px)
    browser.evaluate("for (const part of document.querySelectorAll('details.card')) part.open = true")
    browser.wait_until(
        "[...document.querySelectorAll('.chart')].every((chart) => chart.querySelector('svg.marks'))"
    )
    assert browser.evaluate("document.querySelectorAll('.role-legend').length") > 10
    assert browser.evaluate(CUT_OFF) == []
    assert browser.evaluate("document.documentElement.scrollWidth") == width_px


def test_the_list_of_ten_thousand_runs_has_pages(browser: Browser, ten_thousand: Path) -> None:
    browser.open(ten_thousand, 1280)
    shown = "[document.getElementById('runs-table').tBodies.length, document.getElementById('runs-status').textContent]"
    assert browser.evaluate(shown) == [100, "1 to 100 of 10000 runs"]
    browser.evaluate("document.getElementById('runs-on').click()")
    assert browser.evaluate(shown) == [100, "101 to 200 of 10000 runs"]
    browser.evaluate("document.querySelector('[data-factor=state]').value = 'invalid'")
    browser.evaluate("document.querySelector('[data-factor=state]').dispatchEvent(new Event('change'))")
    assert browser.evaluate(shown) == [100, "1 to 100 of 1000 of 10000 runs"]
    last = browser.evaluate("JSON.parse(config.textContent).runs.rows.at(-1).id")
    browser.evaluate(f"location.hash = 'run-{last}'")
    browser.wait_until(f"document.getElementById('run-{last}')?.classList.contains('open')")
    assert browser.evaluate(shown) == [100, "9901 to 10000 of 10000 runs"]
