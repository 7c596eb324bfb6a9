"""The options of `airtoll compare`, `gate`, `import` and `metrics`; each command imports its code when it is called."""

from pathlib import Path

import click

from airtoll.cli.base import DIRECTORY, FILE, result_argument
from airtoll.cli.json_output import json_option


@click.command
@click.argument("first", type=DIRECTORY, metavar="A", help="A result directory.")
@click.argument("second", type=DIRECTORY, metavar="B", help="The result directory to compare with A.")
@click.option(
    "--margin",
    metavar="PERCENT",
    default="1 %",
    show_default=True,
    help="Smaller differences count as equivalent.",
)
@click.option(
    "--metric",
    "metrics",
    metavar="METRIC",
    multiple=True,
    show_default="all",
    help="Compare this metric; may be given repeatedly.",
)
@click.option(
    "--ignore",
    "ignored",
    metavar="FACTOR",
    multiple=True,
    help="Match cells that differ in this factor, such as lab; may be given repeatedly.",
)
@click.option(
    "--where",
    metavar="FACTOR=LEVEL",
    multiple=True,
    help="Compare only cells with this level, such as stack=default; may be given repeatedly, also for one factor.",
)
@click.option("--all", "show_all", is_flag=True, help="Also show the cells that do not differ.")
@json_option
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the comparison as Markdown.")
@click.option(
    "--fail-on-difference", is_flag=True, help="Exit with 1 if a cell differs, except within the margin."
)
def compare(
    first: Path,
    second: Path,
    margin: str,
    metrics: tuple[str, ...],
    ignored: tuple[str, ...],
    where: tuple[str, ...],
    show_all: bool,
    as_json: bool,
    as_markdown: bool,
    fail_on_difference: bool,
) -> int:
    """Compare two results: which cells differ, by how much, and with what certainty."""
    from airtoll.cli.comparing import compare_results

    return compare_results(
        first,
        second,
        margin=margin,
        metrics=metrics,
        ignored=ignored,
        where=where,
        show_all=show_all,
        as_json=as_json,
        as_markdown=as_markdown,
        fail_on_difference=fail_on_difference,
    )


@click.command
@result_argument
@click.option(
    "--rule",
    "rules",
    metavar="RULE",
    multiple=True,
    help="A rule, such as 'cost(throughput) of ccmp <= 3 %'; may be given repeatedly.",
)
@click.option("--rules", "rule_file", type=FILE, metavar="FILE", help="A TOML file with rules.")
@click.option("--against", type=DIRECTORY, metavar="DIR", help="The baseline of rules about changes.")
@click.option(
    "--ignore",
    "ignored",
    metavar="FACTOR",
    multiple=True,
    help="Match cells of the two results that differ in this factor; may be given repeatedly.",
)
@click.option(
    "--undecided",
    metavar="pass|fail",
    show_default="pass",
    help="The verdict on a cell whose interval includes the bound.",
)
@click.option("--allow-incomplete", is_flag=True, help="Also judge a result that lacks planned runs.")
@json_option
@click.option("--junit", "junit_file", type=FILE, metavar="FILE", help="Also write the outcome as JUnit XML.")
def gate(
    directory: Path,
    rules: tuple[str, ...],
    rule_file: Path | None,
    against: Path | None,
    ignored: tuple[str, ...],
    undecided: str | None,
    allow_incomplete: bool,
    as_json: bool,
    junit_file: Path | None,
) -> int:
    """Check a result against rules, for CI.

    Exit status: 0 if all rules are met; 1 if a rule is broken; 2 if a rule is invalid or matches nothing in the result,
    or if the result cannot be read, is damaged or lacks runs.
    """
    from airtoll.cli.gating import gate_result

    return gate_result(
        directory,
        rules,
        rule_file,
        against=against,
        ignored=ignored,
        undecided=undecided,
        allow_incomplete=allow_incomplete,
        as_json=as_json,
        junit_file=junit_file,
    )


@click.command("import")
@click.argument(
    "files",
    type=DIRECTORY,
    metavar="FILE...",
    nargs=-1,
    help="Files of iperf3, iperf 2, JPerf, irtt, flent, netperf, ping, Wireshark or tshark; compressed or not. "
    "Default: all files in the table of --levels.",
)
@click.option(
    "--out",
    type=DIRECTORY,
    metavar="DIR",
    show_default="results/import-TIME",
    help="Result directory; must be new or empty.",
)
@click.option("--title", metavar="TITLE", help="Title of the result.")
@click.option(
    "--study",
    metavar="STUDY",
    help="A study with published figures, by file or name: reports compare the result with them. Its levels are the "
    "defaults of your files.",
)
@click.option(
    "--security",
    metavar="LEVEL",
    multiple=True,
    help="Security level of all files; or given once per file, in their order. Default: the level in the file's name, "
    "such as ccmp.json or home-wpa2.txt.",
)
@click.option(
    "--level",
    "levels",
    metavar="FACTOR=LEVEL",
    multiple=True,
    help="A level that the files do not contain, such as phy=ht; may be given repeatedly. Other levels are unknown.",
)
@click.option(
    "--levels",
    "table",
    type=FILE,
    metavar="FILE",
    help="A CSV table with one row per file; columns: file, factors, block, discard.",
)
@click.option(
    "--discard-first",
    type=click.IntRange(0, 1000),
    metavar="N",
    default=0,
    show_default=True,
    help="Exclude the first N tests of each cell: they are stored but not counted.",
)
@click.option("--shared-clocks", is_flag=True, help="Both hosts share one clock: use irtt's one-way delays.")
@json_option
def import_(
    files: tuple[Path, ...],
    out: Path | None,
    title: str | None,
    security: tuple[str, ...],
    levels: tuple[str, ...],
    table: Path | None,
    study: str | None,
    discard_first: int,
    shared_clocks: bool,
    as_json: bool,
) -> None:
    """Import recorded files of other tools as a result, one run per test in them."""
    from airtoll.cli.importing import import_into

    import_into(
        files,
        out,
        title=title,
        security=security,
        levels=levels,
        table=table,
        study=study,
        discard_first=discard_first,
        shared_clocks=shared_clocks,
        as_json=as_json,
    )


@click.command
@result_argument
@click.option(
    "--out",
    type=FILE,
    metavar="FILE",
    show_default="standard output",
    help="Output file, replaced atomically.",
)
@json_option
def metrics(directory: Path, out: Path | None, as_json: bool) -> None:
    """Print a result as OpenMetrics text, for Prometheus and Grafana."""
    from airtoll.cli.exporting import export_metrics

    export_metrics(directory, out, as_json=as_json)
