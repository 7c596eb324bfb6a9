"""The journal: the answers of a sweep so far, one line per cell, in the order in which the cells ended.

The first line identifies the sweep and the origin that began it. Each further line that is an object names the origin
of the cells after it: another origin may continue the sweep if that is allowed, and a cluster may have several
machines.

Each line is appended by a single write when its cell ends, so a killed sweep loses only the cells in progress:
completed writes survive the end of the process. About once per second the file is flushed to the disk, in case the
machine fails. An incomplete last line is ignored.
"""

import errno
import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final, Self

from pydantic import TypeAdapter

from airtoll.documents import read_json
from airtoll.durable import reporting, sync
from airtoll.errors import AirtollError, UsageError
from airtoll.store.origin import Origin, refuse_mixture
from airtoll.sweep.workers import Done

SUFFIX = ".journal"
_FLUSH_S = 1.0
_HEAD: Final[TypeAdapter[Mapping[str, str | int | None]]] = TypeAdapter(dict[str, str | int | None])
_LINE = re.compile(r"([0-9]{1,9}) (\{.*\})\n")


class Journal:
    """The journal of one sweep, open for appending. No other process can open it at the same time."""

    def __init__(
        self,
        path: Path,
        sweep: dict[str, object],
        origin: Origin,
        *,
        resume: bool,
        allow_mixed: bool = False,
    ) -> None:
        """Begin or resume the journal of a sweep.

        `sweep` identifies the sweep, `origin` the code and the machine. Raises UsageError if a journal exists and
        `resume` is false, if `resume` is true and none exists, if the journal belongs to another sweep, or if another
        origin began it and `allow_mixed` is false.
        """
        self.path = path
        self._origin = origin  # of the last line
        self.done: set[int] = set()
        flags = (
            os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | (0 if resume else os.O_CREAT | os.O_EXCL)
        )
        try:
            self._descriptor = os.open(path, flags, 0o644)
        except FileExistsError:
            raise UsageError(f"{path} belongs to an interrupted sweep: use --resume to continue it") from None
        except FileNotFoundError:
            raise UsageError(f"{path}: there is no interrupted sweep to resume") from None
        except OSError as error:
            raise AirtollError(f"cannot write {path}: {error.strerror}") from error
        try:
            self._flushed_s = time.monotonic()
            with reporting(f"cannot write {path}"):
                self._lock()
                if resume:
                    self._take_up(sweep, None if allow_mixed else origin)
                else:
                    self._write(json.dumps({**sweep, **asdict(origin)}))
                    os.fsync(self._descriptor)
                    sync(path.absolute().parent)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{self.path}: another airtoll is writing it") from None

    def _take_up(self, sweep: dict[str, object], origin: Origin | None) -> None:
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        head, _, _ = content.partition(b"\n")
        try:
            begun = read_json(_HEAD, head, str(self.path))
        except AirtollError:
            raise UsageError(f"{self.path}: is not the journal of a sweep") from None
        for key, value in sweep.items():
            if begun.get(key) != value:
                raise UsageError(
                    f"{self.path}: cannot resume: {key} is {value}, was {begun.get(key)}: it belongs to another sweep"
                )
        if origin is not None:
            refuse_mixture(str(self.path), _origin(begun), origin)
        os.ftruncate(self._descriptor, whole)
        self._origin = _origin(begun)
        for done in self.cells():
            self.done.add(done.place)
            self._origin = done.origin

    def append(self, done: Done) -> None:
        """Append the answer of a cell, unless the journal contains it already."""
        place = done.place
        if place in self.done:
            return
        with reporting(f"cannot write {self.path}"):
            line = f"{place} {done.answer}"
            if done.origin != self._origin:
                line = f"{json.dumps(asdict(done.origin))}\n{line}"
                self._origin = done.origin
            self._write(line)
            self.done.add(place)
            if time.monotonic() - self._flushed_s > _FLUSH_S:
                os.fsync(self._descriptor)
                self._flushed_s = time.monotonic()

    def _write(self, line: str) -> None:
        content = line.encode() + b"\n"
        if os.write(self._descriptor, content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def cells(self) -> Iterator[Done]:
        """Every cell in the journal, in the order in which the cells ended."""
        with self.path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, start=1):
                if line.startswith("{"):
                    origin = _origin(read_json(_HEAD, line, f"{self.path}: line {number} is damaged"))
                elif match := _LINE.fullmatch(line):
                    yield Done(int(match[1]), match[2], origin)
                else:
                    raise AirtollError(f"{self.path}: line {number} is damaged")

    def remove(self) -> None:
        """Remove the journal after its content has been written to the table."""
        with reporting(f"cannot remove {self.path}"):
            self.path.unlink()

    def close(self) -> None:
        """Flush the journal to the disk and release it."""
        with reporting(f"cannot write {self.path}"):
            os.fsync(self._descriptor)
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _origin(line: Mapping[str, str | int | None]) -> Origin:
    """The origin in a line. Journals of earlier versions contain only the version."""
    names = (line.get(name) for name in ("airtoll", "processor", "kernel"))
    return Origin(*(None if name is None else str(name) for name in names))
