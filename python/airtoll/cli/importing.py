"""`airtoll import`: converts files of other tools into a result directory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from airtoll.cli.json_output import print_json
from airtoll.cli.tables import plain_console
from airtoll.errors import UsageError
from airtoll.published import published
from airtoll.report.material import text
from airtoll.store.importers import Given, given_level, import_files, read_table
from airtoll.study import find_study, load_study


def import_into(
    files: Sequence[Path],
    out: Path,
    *,
    title: str | None,
    security: Sequence[str],
    levels: Sequence[str],
    table: Path | None,
    study: str | None,
    discard_first: int,
    shared_clocks: bool,
    as_json: bool,
) -> None:
    """Write the result and print the run and the verdict of each test."""
    repeated = None if study is None else load_study(find_study(published(study).name))
    given = _with_security(_with_table(files, table), security)
    for_all = _distinct([given_level(level, "--level") for level in levels])
    given = [_with_levels(each, for_all) for each in given]
    name = title or f"Imported: {', '.join(dict.fromkeys(each.path.name for each in given[:3]))}"
    if not name.isprintable():
        raise UsageError("--title: expected one line of printable text")
    records = import_files(
        given, out, name, study=repeated, discard_first=discard_first, shared_clocks=shared_clocks
    )
    if as_json:
        runs = [
            {
                "id": record.run.id,
                "file": record.link["file"],
                "test": record.link.get("test", 1),
                "discarded": record.run.discard,
                "valid": record.verdict.valid,
                "reasons": record.verdict.reasons,
            }
            for record in records
        ]
        print_json({"directory": str(out), "runs": runs})
        return
    console = plain_console(soft_wrap=True)
    invalid = [record for record in records if not record.verdict.valid]
    discarded = [record for record in records if record.run.discard]
    for record in records:
        verdict = "valid" if record.verdict.valid else f"invalid: {'; '.join(record.verdict.reasons)}"
        test = f", test {record.link['test']}" if "test" in record.link else ""
        console.print(
            f"{record.run.id}: {record.link['file']}{test}: {'discarded, ' * record.run.discard}{verdict}"
        )
    and_discarded = f", {len(discarded)} discarded" if discarded else ""
    console.print(
        f"{out}: {text.counted(len(records), 'run')}, {len(invalid)} of them invalid{and_discarded}"
    )


def _with_table(files: Sequence[Path], table: Path | None) -> list[Given]:
    if table is None:
        return [Given(file) for file in files]
    rows = read_table(table)
    by_path: dict[Path, Given] = {}
    for row in rows:
        path = row.path.absolute().resolve()
        if path in by_path:
            raise UsageError(f"{table}: duplicate row for {row.path}")
        by_path[path] = row
    if not files:
        return rows
    missing = [file for file in files if file.absolute().resolve() not in by_path]
    if missing:
        raise UsageError(f"{table}: no row for {missing[0]}")
    return [by_path[file.absolute().resolve()] for file in files]


def _with_security(given: list[Given], security: Sequence[str]) -> list[Given]:
    if len(security) not in (0, 1, len(given)):
        raise UsageError(
            f"--security: given {len(security)} times for {text.counted(len(given), 'file')}; "
            "give it once, or once per file"
        )
    each = list(security) * (len(given) if len(security) == 1 else 1)
    levels = [given_level(f"security={level}", "--security") for level in each]
    return (
        [_with_levels(one, dict([level])) for one, level in zip(given, levels, strict=True)]
        if levels
        else given
    )


def _with_levels(given: Given, levels: Mapping[str, Any]) -> Given:
    for name, level in levels.items():
        if given.levels.get(name, level) != level:
            raise UsageError(f"{given.path}: conflicting levels of {name}: {given.levels[name]} and {level}")
    return replace(given, levels={**given.levels, **levels})


def _distinct(levels: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, level in levels:
        if found.setdefault(name, level) != level:
            raise UsageError(f"--level: conflicting levels of {name}: {found[name]} and {level}")
    return found
