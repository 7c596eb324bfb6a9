"""The options of `airtoll compare`, `gate`, `import` and `metrics`; each command imports its code when it is called."""

from pathlib import Path
from typing import Annotated

import typer

from airtoll.cli.json_output import JsonOption

ResultArgument = Annotated[Path, typer.Argument(metavar="DIR", help="A result directory.")]


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A result directory.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The result directory to compare with A.")],
    margin: Annotated[
        str, typer.Option("--margin", metavar="PERCENT", help="Smaller differences count as equivalent.")
    ] = "1 %",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="Compare this metric; may be given repeatedly.",
            show_default="all",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="FACTOR",
            help="Match cells that differ in this factor, such as lab; may be given repeatedly.",
            show_default=False,
        ),
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Also show the cells that do not differ.")] = False,
    as_json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the comparison as Markdown.")] = False,
    fail_on_difference: Annotated[
        bool,
        typer.Option("--fail-on-difference", help="Exit with 1 if a cell differs, except within the margin."),
    ] = False,
) -> None:
    """Compare two results: which cells differ, by how much, and with what certainty."""
    from airtoll.cli.comparing import compare_results

    raise typer.Exit(
        compare_results(
            first,
            second,
            margin=margin,
            metrics=metric or (),
            ignored=ignore or (),
            show_all=show_all,
            as_json=as_json,
            as_markdown=markdown,
            fail_on_difference=fail_on_difference,
        )
    )


def gate(
    directory: ResultArgument,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="RULE",
            help="A rule, such as 'cost(throughput) of ccmp <= 3 %'; may be given repeatedly.",
            show_default=False,
        ),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules", metavar="FILE", help="A TOML file with rules.", readable=False, show_default=False
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", metavar="DIR", help="The baseline of rules about changes.", show_default=False
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="FACTOR",
            help="Match cells of the two results that differ in this factor; may be given repeatedly.",
            show_default=False,
        ),
    ] = None,
    undecided: Annotated[
        str | None,
        typer.Option(
            "--undecided",
            metavar="pass|fail",
            help="The verdict on a cell whose interval includes the bound.",
            show_default="pass",
        ),
    ] = None,
    as_json: JsonOption = False,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            help="Also write the outcome as JUnit XML.",
            readable=False,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Check a result against rules, for CI.

    Exit status: 0 if all rules are met; 1 if a rule is broken; 2 if a rule is invalid or matches nothing in the result.
    """
    from airtoll.cli.gating import gate_result

    raise typer.Exit(
        gate_result(
            directory,
            rule or (),
            rules,
            against=against,
            ignored=ignore or (),
            undecided=undecided,
            as_json=as_json,
            junit_file=junit,
        )
    )


def import_(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Result directory.", show_default=False)],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="JSON files of iperf3 or irtt, or data files of flent; compressed or not.",
            show_default="all files in the table of --levels",
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TITLE", help="Title of the result.", show_default=False),
    ] = None,
    security: Annotated[
        list[str] | None,
        typer.Option(
            "--security",
            metavar="LEVEL",
            help="Security level of all files; or given once per file, in their order.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(
            "--level",
            metavar="FACTOR=LEVEL",
            help="A level that the files do not contain, such as phy=ht; may be given repeatedly.",
            show_default=False,
        ),
    ] = None,
    levels: Annotated[
        Path | None,
        typer.Option(
            "--levels",
            metavar="FILE",
            help="A CSV table with one row per file; columns: file, factors, block.",
            readable=False,
            show_default=False,
        ),
    ] = None,
    shared_clocks: Annotated[
        bool, typer.Option("--shared-clocks", help="Both hosts share one clock: use irtt's one-way delays.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Import recorded files of iperf3, irtt and flent as a result, one run per file."""
    from airtoll.cli.importing import import_into

    import_into(
        files or (),
        out,
        title=title,
        security=security or (),
        levels=level or (),
        table=levels,
        shared_clocks=shared_clocks,
        as_json=as_json,
    )


def metrics(
    directory: ResultArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Output file, replaced atomically.",
            readable=False,
            show_default="standard output",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print a result as OpenMetrics text, for Prometheus and Grafana."""
    from airtoll.cli.exporting import export_metrics

    export_metrics(directory, out, as_json=as_json)
