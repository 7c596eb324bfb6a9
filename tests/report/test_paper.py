"""Figures and tables for papers."""

import csv
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from report_fakes import Make, make_plan

from airtoll.errors import AirtollError
from airtoll.report import write_paper
from airtoll.report.charts.forms import colour_names
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.rows import build
from airtoll.report.pages.paper import _STYLE, FIGURE_WIDTH_PX, latex
from airtoll.store import Result
from airtoll.study import READY_MADE


@pytest.fixture(scope="module")
def files(quickstart: Result, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    written = write_paper(quickstart, tmp_path_factory.mktemp("paper"))
    assert all(path.is_file() for path in written)
    return {path.name: path for path in written}


def test_every_figure_is_there_as_svg_and_as_pdf(files: dict[str, Path]) -> None:
    for kind in ("svg", "pdf"):
        assert {
            f"throughput-0.{kind}",
            f"change-throughput.{kind}",
            f"waterfall-rtt-ccmp.{kind}",
        } <= files.keys()
    assert {name.removesuffix(".svg") for name in files if name.endswith(".svg")} == {
        name.removesuffix(".pdf") for name in files if name.endswith(".pdf")
    }


def test_figures_are_well_formed_and_as_wide_as_a_column(files: dict[str, Path]) -> None:
    for name, path in files.items():
        if name.endswith(".svg"):
            root = ET.fromstring(path.read_text())  # noqa: S314 - our own file
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            assert 0.7 * FIGURE_WIDTH_PX < float(root.attrib["width"]) < 1.8 * FIGURE_WIDTH_PX
        elif name.endswith(".pdf"):
            content = path.read_bytes()
            assert content.startswith(b"%PDF-")
            assert content.rstrip().endswith(b"%%EOF")


def test_figures_have_the_printed_colours_of_their_levels(files: dict[str, Path]) -> None:
    svg = files["throughput-0.svg"].read_text()
    assert "#c27a00" in svg  # open
    assert "#123f7a" in svg  # CCMP


def test_every_level_has_a_colour_on_screen_and_in_print() -> None:
    names = colour_names([*READY_MADE, "mine", "yours"])
    assert names[:12] == list(READY_MADE)[:12]
    assert colour_names(["open", "mine", "ccmp", "sae"]) == ["open", "other1", "ccmp", "other2"]
    style = _STYLE.read_text(encoding="utf-8")
    assert {style.count(f"--level-{name}: #") for name in names} == {3}  # light, dark, print


def test_tables_are_there_as_csv_and_as_latex(files: dict[str, Path], quickstart: Result) -> None:
    for name in ("comparison", "tests", "predictions", "explained"):
        assert {f"{name}.csv", f"{name}.tex"} <= files.keys()
    with files["comparison.csv"].open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    table = build(ReportData.of(quickstart))
    assert len(rows) == 1 + len(table.rows)
    tex = files["comparison.tex"].read_text()
    assert tex.count(r"\\") == len(rows)
    assert r"\toprule" in tex


HOSTILE = Grid(
    "hostile",
    r"50 % of $x_1 & \input{secret} #1 ~ ^",
    "",
    ("[a]", "b"),
    (
        ("[0.1, 0.2]", "\N{MINUS SIGN}1 \N{PLUS-MINUS SIGN} 2"),
        ("x²", "1.2·10⁻³ \N{MICRO SIGN}s, > 9999, \N{INFINITY}"),
    ),
)


def test_latex_special_characters_are_escaped() -> None:
    tex = latex(HOSTILE)
    assert (
        r"50 \% of \$x\_1 \& \textbackslash{}input\{secret\} \#1 \textasciitilde{} \textasciicircum{}" in tex
    )
    # LaTeX would read a bracket at the start of a row as an argument of the preceding \\.
    assert re.search(r"^    \{\}\[0\.1, 0\.2\] & \$-\$1 \$\\pm\$ 2 \\\\$", tex, re.MULTILINE)
    assert r"x$^2$" in tex
    assert r"1.2$\cdot$10$^-$$^3$ \textmu{}s, $>$ 9999, $\infty$" in tex
    assert "{lr}" in tex


def test_tables_hold_no_character_that_plain_latex_lacks(files: dict[str, Path]) -> None:
    for name, path in files.items():
        if name.endswith(".tex"):
            assert path.read_text().isascii(), name


def lacks_booktabs() -> bool:
    if shutil.which("pdflatex") is None:
        return True
    found = subprocess.run(["kpsewhich", "booktabs.sty"], check=False, capture_output=True)
    return found.returncode != 0


@pytest.mark.skipif(lacks_booktabs(), reason="needs pdflatex with booktabs: texlive-latex-recommended")
def test_latex_compiles(files: dict[str, Path], tmp_path: Path) -> None:
    tables = [path.read_text() for name, path in files.items() if name.endswith(".tex")]
    document = [
        r"\documentclass{article}",
        r"\usepackage{booktabs}",
        r"\begin{document}",
        *tables,
        latex(HOSTILE),
    ]
    (tmp_path / "all.tex").write_text("\n".join([*document, r"\end{document}"]))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)


def test_an_unwritable_directory_is_one_line(make: Make, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    with pytest.raises(AirtollError, match="cannot write into"):
        write_paper(make(make_plan(repeats=1, sizes=(128,), transports=("udp",))), blocked / "paper")
