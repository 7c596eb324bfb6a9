"""`airtoll rtl`: measurements of the hardware."""

from pathlib import Path
from typing import Annotated

import typer

from airtoll.cli.json_output import JsonOption, only_one, print_json

rtl = typer.Typer(
    help="CCMP in hardware: size, power and speed of the designs.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@rtl.callback()
def _rtl() -> None:
    """CCMP in hardware: size, power and speed of the designs."""


@rtl.command("report")
def report(
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FILE",
            help="File with the measurements.",
            readable=False,
            show_default="the results shipped with airtoll",
        ),
    ] = None,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print every figure as CSV.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
) -> None:
    """Print logic, timing, power and rate of the CCMP designs, beside the figures of Hayajneh et al."""
    from airtoll.rtl import DesignFigures, all_figures, default_file, load

    only_one(json=as_json, csv=as_csv, markdown=markdown)
    found = load(results or default_file())
    if as_json:
        print_json([one.model_dump(mode="json") for one in all_figures(found)])
        return
    from airtoll.report.material.grid import csv_text

    if as_csv:
        lines = (one.model_dump().values() for one in all_figures(found))
        typer.echo(csv_text([list(DesignFigures.model_fields), *map(list, lines)]), nl=False)
        return

    from airtoll.cli.tables import plain_console, plain_table, print_table
    from airtoll.report.pages.markdown import grid_lines
    from airtoll.report.parts.hardware import grids

    if markdown:
        typer.echo("\n".join(line for grid in grids(found) for line in grid_lines(grid)))
        return
    console = plain_console(soft_wrap=True)
    for grid in grids(found):
        console.print(grid.title, style="bold")
        print_table(console, plain_table(grid.columns, grid.rows))
        console.print(grid.note)
        console.print()
