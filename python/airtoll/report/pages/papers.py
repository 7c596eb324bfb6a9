"""One Markdown page per paper: its claims and printed values beside those of the results that repeat its study."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from airtoll.durable import make_directory, publish, reporting
from airtoll.errors import UsageError
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.pages.markdown import grid_lines, in_markdown
from airtoll.report.parts import answer, card, gap, sentences
from airtoll.report.parts.claims import Claims
from airtoll.report.parts.publications import BesidePublication
from airtoll.store import Result
from airtoll.store.layout import check_target


def write_papers(results: Sequence[Result], directory: Path) -> list[Path]:
    """Write NAME.md for each paper whose study the results repeat, each atomically; return the paths.

    Several results of one paper share its page, in the given order. Raises UsageError if a result repeats no paper, or
    as `check_target` and `make_directory` do; AirtollError if a result cannot be read or a file cannot be written.
    """
    papers: dict[str, list[BesidePublication]] = {}
    for result in results:
        check_target(result.directory, directory)
        paper = BesidePublication.of(ReportData.of(result))
        if paper is None:
            raise UsageError(f"{result.directory}: --pages requires results of studies that repeat a paper")
        of_name = papers.setdefault(paper.publication.name, [])
        if of_name and of_name[0].publication != paper.publication:
            raise UsageError(
                f"{result.directory}: another result has different figures of the same name, "
                f"{paper.publication.name}: --pages writes one page per name"
            )
        of_name.append(paper)
    files = {f"{name}.md": _page(of_paper).encode() for name, of_paper in papers.items()}
    with reporting(f"cannot write into {directory}"):
        make_directory(directory.absolute())
        publish(directory, files)
    return [directory / name for name in files]


def _page(papers: Sequence[BesidePublication]) -> str:
    paper = papers[0].publication
    parts = [
        f"# {in_markdown(paper.short_name)}: published, measured and predicted",
        "",
        in_markdown(paper.source),
        "",
        "`airtoll report RESULT... --pages DIR` writes this page.",
        "",
    ]
    for each in papers:
        parts += _section(each)
    return "\n".join(parts).rstrip() + "\n"


def _section(paper: BesidePublication) -> list[str]:
    """One result: its origin, its answer, the paper's claims and the paper's values."""
    data, found = paper.data, answer.find(paper.data)
    lines = [f"## {in_markdown(_name(data))}", ""]
    for sentence in (found.headline, *found.others, " ".join(sentences.lede(data))):
        lines += [in_markdown(sentence), ""]
    claims = Claims.of(data)
    for grid in (origin(data), claims.grid(), claims.disagreements(), paper.grid(), gap.grid(paper)):
        if grid.rows:
            lines += grid_lines(grid, level=3)
    return lines


def _name(data: ReportData) -> str:
    clock = "" if data.is_simulated or data.is_imported else f", {data.plan.clock} clock"
    return f"{'Imported runs' if data.is_imported else f'Lab {data.lab}'}{clock}"


def origin(data: ReportData) -> Grid:
    """The origin of the values of a result: lab, clock, replicates, card and version."""
    return Grid("origin", "Origin of the values", "", ("Fact", "Value"), tuple(_origin(data)), words=2)


def _origin(data: ReportData) -> Iterator[tuple[str, str]]:
    method, virtual = data.method, data.is_simulated or data.plan.clock == "virtual"
    yield "Values", data.obtained
    yield "Lab", data.lab
    yield "Clock", "virtual" if virtual else "real"
    quick = ", shortened by the study's [quick] table" if data.quick else ""
    yield "Study", f"{data.study}{quick}"
    discarded = f" after {method.discard_first} discarded" if method.discard_first else ""
    least = f"{method.least_repeats} to " if method.stop != "fixed" else ""
    yield "Replicates per cell", f"{least}{method.repeats}{discarded}"
    yield "Runs", f"{len(data.plan.runs)} planned, {len(data.counting)} counted"
    yield "Duration of a probe", f"{method.duration:g} s after {method.warmup:g} s"
    yield "Card", card.place(data)
    versions = sorted({run.record.versions.airtoll or "unknown" for run in data.runs if run.record})
    yield "airtoll", text.listing(versions)
    yield "Recorded", f"{data.created:%Y-%m-%d}"
