"""`airtoll import`: converts files of other tools into a result directory."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from airtoll.cli.json_output import print_json
from airtoll.cli.tables import plain_console
from airtoll.errors import UsageError
from airtoll.published import required_publication
from airtoll.report.material import text
from airtoll.store import RunRecord, default_directory
from airtoll.store.importers import Given, given_level, import_files, levels_in_name, read_table
from airtoll.study import find_study, level_text, load_study


def import_into(
    files: Sequence[Path],
    out: Path | None,
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
    """Write the result and print the run, the verdict and the origin of the levels of each test."""
    out = out or default_directory("import")
    repeated = None if study is None else load_study(find_study(study))
    if repeated is not None:
        required_publication(repeated)
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
                "spoiled": record.verdict.spoiled,
                "levels": {key: record.link[key] for key in _ORIGINS if key in record.link},
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
        verdict += "".join(
            f"; {metric} does not count: {why}" for metric, why in record.verdict.spoiled.items()
        )
        guessed = [f"{name}={getattr(record.run.cell, name)}" for name in _factors(record, "levels_by_name")]
        verdict += f" ({', '.join(guessed)} from its name)" if guessed else ""
        test = f", test {record.link['test']}" if "test" in record.link else ""
        console.print(
            f"{record.run.id}: {record.link['file']}{test}: {'discarded, ' * record.run.discard}{verdict}"
        )
    # The command names the security in an option of its own.
    others = [level for level in levels if level.partition("=")[0].strip() != "security"]
    options = ["--out", f"{out}-corrected", *(word for level in others for word in ("--level", level))]
    options += [] if study is None else ["--study", study]
    options += ["--discard-first", str(discard_first)] if discard_first else []
    options += ["--shared-clocks"] if shared_clocks else []
    for line in _origins(given, records, options if table is None else None):
        console.print(line)
    and_discarded = f", {len(discarded)} discarded" if discarded else ""
    console.print(
        f"{out}: {text.counted(len(records), 'run')}, {len(invalid)} of them invalid{and_discarded}"
    )


_ORIGINS: Final = {
    "levels_by_name": "From the names",
    "levels_by_file": "From the contents",
    "levels_by_owner": "Given",
    "levels_by_study": "From the study",
}
"""The keys of a run's link with the origins of its levels, in the order of the text."""

_MOST_LEVELS: Final = 4
"""Levels of a factor that the text lists."""


def _origins(
    files: Sequence[Given], records: Sequence[RunRecord], options: Sequence[str] | None
) -> Iterator[str]:
    """The origin of the levels, and the command that corrects them, if some are guessed or unknown.

    `options` are the other options of that command; None if a table has the levels.
    """
    is_guessed = any("levels_by_name" in record.link for record in records)
    unknown = dict.fromkeys(name for record in records for name in record.run.cell.unknown)
    if is_guessed:
        for key, origin in _ORIGINS.items():
            levels: dict[str, dict[str, None]] = {}
            for record in records:
                for name in _factors(record, key):
                    levels.setdefault(name, {})[level_text(name, getattr(record.run.cell, name))] = None
            if levels:
                yield f"{origin}: {', '.join(_listed(name, texts) for name, texts in levels.items())}"
    if unknown:
        yield f"Unknown: {', '.join(unknown)}. Comparisons work without these levels; predictions require them."
    if (is_guessed or unknown) and options is not None:
        security = [{**levels_in_name(each.path), **each.levels}.get("security", "LEVEL") for each in files]
        told = security if len(set(security)) > 1 else security[:1]
        words = [*(shlex.quote(str(each.path)) for each in files), *map(shlex.quote, options)]
        words += [f"--security {level}" for level in told] + [f"--level {name}=LEVEL" for name in unknown]
        yield f"To correct a level: airtoll import {' '.join(words)}"


def _factors(record: RunRecord, key: str) -> Sequence[str]:
    names: Any = record.link.get(key, ())
    return tuple(names)


def _listed(name: str, texts: Collection[str]) -> str:
    return f"{name}={' or '.join(texts)}" if len(texts) <= _MOST_LEVELS else f"{name}, {len(texts)} levels"


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
