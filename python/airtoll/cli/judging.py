"""The options of `airtoll compare`, `gate`, `import` and `metrics`; each command imports its code when it is called."""

from pathlib import Path
from typing import Annotated

import typer

ResultArgument = Annotated[Path, typer.Argument(metavar="DIR", help="A result directory.")]


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A result directory.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The one that is compared with it.")],
    margin: Annotated[
        str, typer.Option("--margin", metavar="PERCENT", help="Differences below it are as good as none.")
    ] = "1 %",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="Compare this one; may be given repeatedly.",
            show_default="all",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="FACTOR",
            help="Cells may differ in this factor, like lab; may be given repeatedly.",
            show_default=False,
        ),
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show the cells that do not differ too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as Markdown.")] = False,
    fail_on_difference: Annotated[
        bool,
        typer.Option(
            "--fail-on-difference", help="Exit with 1 if a cell differs, unless by less than the margin."
        ),
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
            help="Like 'cost(throughput) of ccmp <= 3 %'; may be given repeatedly.",
            show_default=False,
        ),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules", metavar="FILE", help="Rules in a TOML file.", readable=False, show_default=False
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", metavar="DIR", help="The result that a change is measured from.", show_default=False
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="FACTOR",
            help="Cells of the two may differ in this factor; may be given repeatedly.",
            show_default=False,
        ),
    ] = None,
    undecided: Annotated[
        str | None,
        typer.Option(
            "--undecided",
            metavar="pass|fail",
            help="What a rule does whose interval reaches over its bound.",
            show_default="pass",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every cell as JSON.")] = False,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            help="Write the outcome as JUnit XML too.",
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
            help="JSON of iperf3 or irtt, or data files of flent; packed or not.",
            show_default="all that --levels names",
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TITLE", help="What the result is of.", show_default=False),
    ] = None,
    security: Annotated[
        list[str] | None,
        typer.Option(
            "--security",
            metavar="LEVEL",
            help="Of all files; or of each, in their order.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(
            "--level",
            metavar="FACTOR=LEVEL",
            help="What the files do not say, like phy=ht; may be given repeatedly.",
            show_default=False,
        ),
    ] = None,
    levels: Annotated[
        Path | None,
        typer.Option(
            "--levels",
            metavar="FILE",
            help="A CSV table: a row a file, with columns file, factors, block.",
            readable=False,
            show_default=False,
        ),
    ] = None,
    shared_clocks: Annotated[
        bool, typer.Option("--shared-clocks", help="Both hosts read one clock: irtt's one-way delays count.")
    ] = False,
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
    )


def metrics(
    directory: ResultArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Output, replaced as a whole.",
            readable=False,
            show_default="printed",
        ),
    ] = None,
) -> None:
    """Print a result as OpenMetrics text, for Prometheus and Grafana."""
    from airtoll.cli.exporting import export_metrics

    export_metrics(directory, out)
