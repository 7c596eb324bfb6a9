"""Figures and tables for papers."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from report_fakes import FEW_FLOWS, Make, make_plan, store

from airtoll.cli.results import report_results
from airtoll.errors import AirtollError, UsageError
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.rows import build
from airtoll.report.pages.colours import _STYLE, colour_names
from airtoll.report.pages.figure_files import COLUMN_PX, TEXT_PX, still, write_figures
from airtoll.report.pages.paper import latex, write_paper
from airtoll.report.parts import figures as measured_figures
from airtoll.report.parts import sections
from airtoll.store import Result
from airtoll.study import READY_MADE


@pytest.fixture(scope="module")
def data(quickstart: Result) -> ReportData:
    return ReportData.of(quickstart)


@pytest.fixture(scope="module")
def files(data: ReportData, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    written = write_paper(data, tmp_path_factory.mktemp("paper"))
    assert all(path.is_file() for path in written)
    return {path.name: path for path in written}


@pytest.fixture(scope="module")
def figures(data: ReportData, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {path.name: path for path in write_figures(data, tmp_path_factory.mktemp("figures"))}


def test_a_paper_has_a_table_per_main_metric_and_the_figures_of_these_metrics(
    data: ReportData, files: dict[str, Path]
) -> None:
    main = {metric.name for metric in data.metrics if metric.main}
    assert {f"{name}.tex" for name in main} | {"explained.tex"} == {
        name for name in files if name.endswith(".tex")
    }
    assert {"throughput-0.pdf", "change-throughput.pdf"} <= files.keys()
    assert not any(name.startswith("cpu_emulator") for name in files)
    assert len(files) < 30


def test_every_figure_is_there_as_svg_and_as_pdf(data: ReportData, figures: dict[str, Path]) -> None:
    shown = [figure for section in sections(data, "figures")["figures"] for figure in section.figures]
    charts = {chart.id.removeprefix("chart-") for figure in shown for chart in figure.charts}
    assert {"throughput-0", "change-throughput", "waterfall-rtt-ccmp", "cpu_emulator-0"} <= charts
    assert figures.keys() == {f"{name}.{kind}" for name in charts for kind in ("svg", "pdf")}


def test_figures_are_as_wide_as_a_column(figures: dict[str, Path]) -> None:
    for name, path in figures.items():
        if name.endswith(".svg"):
            root = ET.fromstring(path.read_text())  # noqa: S314 - our own file
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            assert float(root.attrib["width"]) == COLUMN_PX, name
        else:
            content = path.read_bytes()
            assert content.startswith(b"%PDF-")
            assert re.search(rb"/MediaBox *\[0 0 252 [0-9.]+\]", content), name  # 3.5 inches in points


def test_text_in_figures_has_eight_points_and_the_chosen_font(data: ReportData, tmp_path: Path) -> None:
    chart = measured_figures.measured(data)[0].charts[0]
    config = still(data, chart, "DejaVu Serif")["config"]
    sizes = {
        value
        for part in ("axis", "title", "legend")
        for key, value in config[part].items()
        if "FontSize" in key
    }
    assert sizes == {TEXT_PX}
    assert config["font"] == "DejaVu Serif"
    with pytest.raises(
        UsageError, match=r"^font 'No Such Font' is not installed: the figures would have no text$"
    ):
        write_figures(data, tmp_path / "none", "No Such Font")
    assert not (tmp_path / "none").exists()


def test_figures_have_the_printed_colours_of_their_levels(figures: dict[str, Path]) -> None:
    svg = figures["throughput-0.svg"].read_text()
    assert "#c27a00" in svg  # open
    assert "#123f7a" in svg  # CCMP


def test_every_level_has_a_colour_on_screen_and_in_print() -> None:
    names = colour_names([*READY_MADE, "mine", "yours"])
    assert names[:12] == list(READY_MADE)[:12]
    assert colour_names(["open", "mine", "ccmp", "sae"]) == ["open", "other1", "ccmp", "other2"]
    style = _STYLE.read_text(encoding="utf-8")
    assert {style.count(f"--level-{name}: #") for name in names} == {3}  # light, dark, print


def test_the_table_of_a_metric_has_its_values(data: ReportData, files: dict[str, Path]) -> None:
    tex = files["throughput.tex"].read_text()
    rows = [row for row in build(data).rows if row.metric.name == "throughput"]
    assert tex.count(r"\\") == len(rows) + 1
    assert r"\toprule" in tex
    assert r"\label{tab:throughput}" in tex
    for row in rows:
        assert f"{row.mean(row.baseline)} $\\pm$" in tex


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
    assert "{@{}lr@{}}" in tex


def test_tables_hold_no_character_that_plain_latex_lacks(files: dict[str, Path]) -> None:
    for name, path in files.items():
        if name.endswith(".tex"):
            assert path.read_text().isascii(), name


def table(name: str, columns: int, rows: int, cell: str, words: int = 1) -> Grid:
    lines = tuple(tuple(f"{cell} {row}" for _ in range(columns)) for row in range(rows))
    return Grid(name, "A table", "", tuple(f"Column {at}" for at in range(columns)), lines, words)


def test_a_table_that_is_longer_than_a_page_is_a_longtable() -> None:
    assert r"\begin{table}" in latex(table("short", 3, 30, "1.0"))
    assert r"\begin{longtable}" in latex(table("long", 3, 60, "1.0"))
    assert r"\begin{longtable}" in latex(table("wrapped", 3, 20, "several words " * 12, words=3))


def test_a_word_that_is_wider_than_the_page_is_written() -> None:
    name = "x" * 400
    assert name in latex(Grid("wide", "Wide", "", ("Stack", "Mbit/s"), ((name, "1"),)))


def test_columns_that_do_not_fit_are_in_tables_of_their_own() -> None:
    tex = latex(table("wide", 14, 3, "1000.00 $\\pm$ 10.00"))
    labels = re.findall(r"\\label\{(.*?)\}", tex)
    assert labels[0] == "tab:wide"
    assert labels[1:] == [f"tab:wide-{number}" for number in range(2, len(labels) + 1)]
    assert len(labels) > 1
    assert [tex.count(f"Column {at} ") for at in (1, 13)] == [1, 1]
    assert tex.count("Column 0 ") == len(labels)


def lacks_booktabs() -> bool:
    if shutil.which("pdflatex") is None:
        return True
    found = subprocess.run(["kpsewhich", "booktabs.sty"], check=False, capture_output=True)
    return found.returncode != 0


def grids(data: ReportData) -> Iterator[Grid]:
    """The tables for a paper."""
    return (grid for section in sections(data, "latex")["latex"] for grid in section.grids)


def published_tables(directory: Path) -> Iterator[Grid]:
    """The tables of a result with many levels, claims and printed values."""
    plan = make_plan(
        levels=("open", "wep104", "ccmp", "enhanced4"),
        sizes=(128, 1280, 1408),
        repeats=2,
        transports=("udp",),
        study="hayajneh-enhanced",
    )
    yield from grids(ReportData.of(store(directory, plan, invalid=lambda _: (), lab="sim")))


@pytest.mark.skipif(lacks_booktabs(), reason="needs pdflatex with booktabs: texlive-latex-recommended")
@pytest.mark.parametrize("paper", ["a4paper", "letterpaper"])
def test_every_table_fits_the_page_of_an_article(data: ReportData, tmp_path: Path, paper: str) -> None:
    """LaTeX reports each line that is too wide and each float that is too high."""
    made = [
        *grids(data),
        *published_tables(tmp_path / "result"),
        HOSTILE,
        table("short", 3, 34, "1.0"),
        table("long", 3, 200, "1.0"),
        table("wrapped", 4, 60, "several words " * 12, words=3),
        table("wide", 14, 50, "1000.00 [900.00, 1100.00]"),
    ]
    (tmp_path / "all.tex").write_text(
        f"\\documentclass[{paper}]{{article}}\n\\usepackage{{booktabs,longtable,array}}\n"
        f"\\begin{{document}}\n{''.join(map(latex, made))}\\end{{document}}\n"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    log = (tmp_path / "all.log").read_text(encoding="latin-1")
    assert "Output written on all.pdf" in log
    assert not re.findall(
        r"^.*(?:Overfull|too large|Missing character|multiply defined).*$", log, re.MULTILINE
    )


def test_options_that_do_not_go_together_are_one_line(quickstart: Result, tmp_path: Path) -> None:
    one, paper = [quickstart.directory], {"paper": False, "as_json": False}
    with pytest.raises(UsageError, match="--figures requires a single result"):
        report_results([*one, *one], tmp_path, figures=tmp_path, **paper)
    with pytest.raises(UsageError, match="--font requires --figures or --paper"):
        report_results(one, tmp_path, font="Times", **paper)


def test_an_unwritable_directory_is_one_line(make: Make, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    with pytest.raises(AirtollError, match="cannot write into"):
        write_paper(ReportData.of(make(make_plan(repeats=1, **FEW_FLOWS))), blocked / "paper")
