"""The parts of a report: a module names the functions that make its sections in `SECTIONS`."""

from importlib import import_module
from pkgutil import iter_modules

from airtoll.report.material.data import ReportData
from airtoll.report.material.section import Part, Section, Writer


def sections(data: ReportData, *writers: Writer) -> dict[Writer, tuple[Section, ...]]:
    """The sections of each writer from all modules of this package, in the order of their places."""
    modules = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
    parts: list[Part] = [part for module in modules for part in getattr(module, "SECTIONS", ())]
    found: dict[Writer, tuple[Section, ...]] = dict.fromkeys(writers, ())
    for part in sorted(parts, key=lambda part: part.place):
        if asking := [writer for writer in writers if writer in part.writers]:
            made = tuple(part.of(data))
            found |= {writer: found[writer] + made for writer in asking}
    return found
