"""A page of measurements: its sections measured one after the other, printed and, if asked to, written to a file."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console


def publish(about: str, introduction: str, sections: Sequence[Callable[[], str]]) -> None:
    """Measure the sections, each named by its function, and print the page in Markdown; `about` is for `--help`."""
    arguments = argparse.ArgumentParser(description=about)
    arguments.add_argument("--write", type=Path, metavar="FILE", help="write the Markdown here too")
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
