"""A section of one module is in the report of every writer, without a change of another file."""

from pathlib import Path

import pytest
from report_fakes import FEW_FLOWS, Make, make_plan

from airtoll.cli.results import report_results
from airtoll.report import parts

TOY = """
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Lines, Part, Section


def toy(data):
    grid = Grid("toys", "Toys on the air", "A note on toys.", ("Toy", "Metrics"), (("train", str(len(data.metrics))),))
    return [Section("toy", "Toys", (Lines(("A toy moves.",)), grid))] if data.study == "toys" else []


SECTIONS = (Part(40, toy, ("html", "markdown", "latex", "terminal")),)
"""


@pytest.mark.parametrize("there", [True, False])
def test_every_writer_shows_the_section_of_a_new_module(
    make: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    there: bool,
) -> None:
    (tmp_path / "toy.py").write_text(TOY)
    monkeypatch.setattr(parts, "__path__", [*parts.__path__, str(tmp_path)])
    result = make(
        make_plan(repeats=2, study="toys" if there else "others", **FEW_FLOWS), invalid=lambda _: ()
    )
    report_results([result.directory], tmp_path / "out", paper=True, as_json=False)
    page = (tmp_path / "out/report.html").read_text()
    assert ('<section id="toy">\n<h2>Toy</h2>\n<h3>Toys</h3>' in page) is there
    assert ('<a href="#toy">Toy</a>' in page) is there
    assert (
        "## Toys\n\n- A toy moves.\n\n### Toys on the air\n\n" in (tmp_path / "out/report.md").read_text()
    ) is there
    assert ((tmp_path / "out/paper/toys.tex").is_file()) is there
    printed = capsys.readouterr().out
    assert ("Toys on the air" in printed and "A toy moves." in printed) is there
