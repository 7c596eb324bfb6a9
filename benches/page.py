"""A page of measurements: sections are measured in order, printed and, with `--write`, written to a file."""

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from falls import RISE, falls, rises
from rich.console import Console

from airtoll.labs.namespace import machine_facts


def machine() -> str:
    """The machine in the words of a page: "AMD EPYC (family 25, model 1), 2 cores, Linux 6.18.44".

    The release of the kernel is without its local suffix. Hypervisors shorten the names of CPUs.
    """
    facts = machine_facts()
    release = re.match(r"[0-9.]+[0-9]", facts["kernel"])
    return f"{processor()}, {facts['cores']} cores, Linux {release[0] if release else facts['kernel']}"


def processor() -> str:
    """The name of the CPU with its family and model, where the kernel names them."""
    of_cpu = dict(
        re.findall(r"^([a-z ]+?)\s*: (.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    )
    numbers = [f"{name} {of_cpu[key]}" for name, key in _NUMBERS.items() if key in of_cpu]
    name = str(machine_facts()["processor"])
    return f"{name} ({', '.join(numbers)})" if numbers else name


_NUMBERS = {"family": "cpu family", "model": "model"}


def publish(about: str, introduction: str, sections: Sequence[Callable[[], str]], rise: float = RISE) -> None:
    """Measure the sections and print the page in Markdown. `about` is the text of `--help`.

    The name of a section's function is its name on the terminal and for `--only`. With `--stored`, each CPU time that
    rose by more than the fraction `rise` is named.
    """
    by_name = {section.__name__.replace("_", " "): section for section in sections}
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the Markdown to FILE")
    parser.add_argument(
        "--only",
        action="append",
        choices=list(by_name),
        metavar="SECTION",
        help=f"measure this section, and keep the others of FILE: {', '.join(by_name)}",
    )
    parser.add_argument(
        "--stored",
        type=Path,
        metavar="PAGE",
        help="name the ratios that fell and the CPU times that rose since this page",
    )
    arguments = parser.parse_args()
    path: Path | None = arguments.write
    stored = arguments.stored.read_text(encoding="utf-8") if arguments.stored else ""
    console = Console(stderr=True, highlight=False)
    parts = [] if arguments.only else [introduction]
    for name in arguments.only or by_name:
        with console.status(f"measuring {name}"):
            parts.append(by_name[name]())
        console.print(f"measured {name}")
    page = "\n\n".join(parts) + "\n"
    print(page)
    for fallen in falls(stored, page):
        console.print(f"fell: {fallen}")
    for risen in rises(stored, page, rise):
        console.print(f"rose: {risen}")
    if path is not None:
        path.write_text(_with_sections(path, parts) if arguments.only else page, encoding="utf-8")


def _with_sections(path: Path, sections: Sequence[str]) -> str:
    """The page in the file with these sections, each in place of the one with its heading or at the end."""
    mark = "\n\n## "
    introduction, *others = path.read_text(encoding="utf-8").rstrip("\n").split(mark)
    page = {other.partition("\n")[0]: other for other in others}
    page |= {text.partition("\n")[0]: text for text in (section.removeprefix("## ") for section in sections)}
    return mark.join([introduction, *page.values()]) + "\n"
