"""A page of measurements: sections are measured in order, printed and, with `--write`, written to a file."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console


def publish(about: str, introduction: str, sections: Sequence[Callable[[], str]]) -> None:
    """Measure the sections and print the page in Markdown. `about` is the text of `--help`.

    The name of a section's function is its name on the terminal.
    """
    arguments = argparse.ArgumentParser(description=about)
    arguments.add_argument("--write", type=Path, metavar="FILE", help="also write the Markdown to FILE")
    path: Path | None = arguments.parse_args().write
    console = Console(stderr=True, highlight=False)
    parts = [introduction]
    for section in sections:
        name = section.__name__.replace("_", " ")
        with console.status(f"measuring {name}"):
            parts.append(section())
        console.print(f"measured {name}")
    page = "\n\n".join(parts) + "\n"
    print(page)
    if path is not None:
        path.write_text(page, encoding="utf-8")
