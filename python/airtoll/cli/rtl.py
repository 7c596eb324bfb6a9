"""`airtoll rtl`: measurements of the hardware."""

from pathlib import Path

import click

from airtoll.cli.base import FILE, PanelGroup, echo
from airtoll.cli.json_output import json_option, only_one, print_json


@click.group(cls=PanelGroup)
def rtl() -> None:
    """CCMP in hardware: size, power and speed of the designs."""


@rtl.command("report")
@click.option(
    "--results",
    type=FILE,
    metavar="FILE",
    show_default="the results shipped with airtoll",
    help="File with the measurements.",
)
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print every figure as CSV.")
@click.option("--markdown", is_flag=True, help="Print the tables as Markdown.")
def report(results: Path | None, as_json: bool, as_csv: bool, markdown: bool) -> None:
    """Print logic, timing, power and rate of the CCMP designs, beside the figures of Hayajneh et al.

    The tables fit the width of the terminal. --csv and --markdown have one line per design.
    """
    from airtoll.rtl import DesignFigures, all_figures, default_file, load

    only_one(json=as_json, csv=as_csv, markdown=markdown)
    found = load(results or default_file())
    if as_json:
        print_json([one.model_dump(mode="json") for one in all_figures(found)])
        return
    from airtoll.report.material.grid import csv_text

    if as_csv:
        lines = (one.model_dump().values() for one in all_figures(found))
        echo(csv_text([list(DesignFigures.model_fields), *map(list, lines)]), nl=False)
        return

    from airtoll.cli.tables import plain_console, print_in_parts
    from airtoll.report.pages.markdown import grid_lines
    from airtoll.report.parts.hardware import OF_OUR_DESIGNS, grids

    if markdown:
        echo("\n".join(line for grid in grids(found) for line in grid_lines(grid)))
        return
    console = plain_console()
    for grid in sorted(grids(found), key=lambda grid: not grid.name.startswith(OF_OUR_DESIGNS)):
        console.print(grid.title, style="bold")
        print_in_parts(console, grid.columns, grid.rows, grid.words)
        console.print(grid.note)
        console.print()
