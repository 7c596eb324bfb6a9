"""Loads and checks a study file by name or path. Every error is one line with file and key."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from airtoll.errors import FAULTS_MOST, UsageError, listed
from airtoll.study import rules
from airtoll.study.quantity import in_utf8, one_line, one_of, show
from airtoll.study.schema import TABLES, StudyFile, is_figures_file
from airtoll.study.toml import read_text, read_toml
from airtoll.study.values import PROBLEM, did_you_mean


class Figures(NamedTuple):
    """A file with published figures, which is not checked yet."""

    name: str  # of the file, for messages
    text: str
    stem: str  # of the name that the study's author gave it

    @property
    def suffix(self) -> str:
        """The format of the file: .toml or .csv."""
        return Path(self.name).suffix

    @classmethod
    def read(cls, path: Path, named: str) -> "Figures":
        """The file at the path, which a study names in its key `published`. Raises UsageError."""
        text = read_text(path, "a file with published figures")
        return cls(one_line(str(path), most=4096), text, Path(named).stem)


class Study(StudyFile):
    """A checked study file: durations in seconds, packet sizes in bytes, bandwidths in MHz."""

    name: str  # the file's name without suffix
    path: Path
    text: str  # the file's content, verbatim
    figures: Figures | None = None  # the file that the key `published` names


def shipped_studies() -> list[Path]:
    """The study files shipped with airtoll, sorted by name."""
    return sorted((Path(__file__).parents[1] / "studies").glob("*.toml"))


def find_study(name_or_path: str | Path) -> Path:
    """The path of a study file that is given as a path, or as the bare name of a shipped study.

    An argument with a directory or the suffix .toml is a path. A bare name is looked up among the shipped studies
    first, so that no file in the working directory can shadow them. Raises UsageError for an unknown name.
    """
    path = Path(name_or_path)
    if path.suffix == ".toml" or os.sep in str(name_or_path):
        return path
    shipped = {study.stem: study for study in shipped_studies()}
    if path.name in shipped:
        return shipped[path.name]
    if path.name and os.path.exists(path):  # unlike Path.exists, returns False for an impossible file name
        return path
    names = (
        f"shipped studies: {', '.join(shipped)}" if shipped else "this installation has no shipped studies"
    )
    hint = did_you_mean(path.name, shipped)
    raise UsageError(f"{show(str(name_or_path))} is neither a study nor a file; {names}{hint}")


def load_study(path: str | Path) -> Study:
    """Read and check a study file. Raises UsageError with one line: file, key, allowed values."""
    path = Path(path)
    file = one_line(str(path), most=4096)
    text, raw = read_toml(path, "a study file")
    try:
        checked = StudyFile.model_validate(raw)
    except ValidationError as error:
        if (count := error.error_count()) > FAULTS_MOST:
            raise UsageError(f"{file}: {count} values are invalid") from None
        # A misspelt key is also reported as missing: show the misspelling first.
        details = sorted(
            error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden"
        )
        problems = [_explain(detail) for detail in details]
    else:
        problems = rules.problems(checked)
        if not problems:
            named = checked.published
            figures = (
                Figures.read(path.parent / named, named)
                if named is not None and is_figures_file(named)
                else None
            )
            return Study(**dict(checked), name=in_utf8(path.stem), path=path, text=text, figures=figures)
    raise UsageError(listed([f"{file}: {dotted(where)}: {words}" for where, words in problems]))


def _explain(detail: ErrorDetails) -> rules.Problem:
    where = detail["loc"]
    match detail["type"]:
        case "missing":
            field = TABLES[_names(where[:-1])].model_fields[str(where[-1])]
            return where, f"missing key: {(field.description or '').removesuffix('.')}"
        case "extra_forbidden":
            return where, _unknown_key(_names(where))
        case "model_type":
            return where, f"{show(detail['input'])} is not a table: expected [{dotted(where)}]"
        case kind if kind == PROBLEM:
            context = detail["ctx"]
            index = context.get("index")
            return (where if index is None else (*where, index)), context["text"]
        case _:  # no model has a check that ends here; pydantic's own message is the fallback
            return where, one_line(detail["msg"], most=200)


def _unknown_key(where: tuple[str, ...]) -> str:
    *table, key = where
    here = list(TABLES[tuple(table)].model_fields)
    elsewhere = [
        f"[{'.'.join(path)}]" for path, model in TABLES.items() if path and key in model.model_fields
    ]
    hint = f"; it belongs in {one_of(elsewhere)}" if elsewhere else did_you_mean(key, here)
    return f"unknown key; known keys: {', '.join(here)}{hint}"


def _names(where: tuple[str | int, ...]) -> tuple[str, ...]:
    """The location as a key of `TABLES`."""
    names = tuple(part for part in where if isinstance(part, str))
    return (names[0], "NAME", *names[2:]) if len(names) > 1 and (names[0], "NAME") in TABLES else names


def dotted(where: tuple[str | int, ...]) -> str:
    """A location in the file as a dotted key: factors.packet_size[1]."""
    text = ""
    for part in where:
        if part == "[key]":  # pydantic's marker of an invalid key
            continue
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            bare = re.fullmatch("[A-Za-z0-9_-]+", part) is not None
            text += ("." if text else "") + (one_line(part) if bare else f'"{one_line(part)}"')
    return text
