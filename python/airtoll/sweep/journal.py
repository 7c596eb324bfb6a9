"""What a sweep has measured so far: one line a cell, in the order in which they ended.

The first line says which sweep it is. A line is appended in one write as its cell ends, so that a killed sweep
loses the cells under way and no other: what a process has written stays when it is killed, and every second or so
it is flushed to the disk, for when the machine fails. A last line that is cut off is no line.
"""

import errno
import fcntl
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from airtoll.errors import AirtollError, UsageError
from airtoll.store.durable import reporting, sync

SUFFIX = ".journal"
_FLUSH_S = 1.0
_LINE = re.compile(r"([0-9]{1,9}) (\{.*\})\n")


class Journal:
    """The journal of one sweep, open for appending; no other process can have it open."""

    def __init__(self, path: Path, sweep: dict[str, object], *, resume: bool) -> None:
        """Begin the journal of a sweep, or with `resume` go on with it.

        `sweep` is what identifies it. Raises UsageError if there is a journal and it is not to be resumed, if
        there is none to resume, or if it is of another sweep.
        """
        self.path = path
        self.done: set[int] = set()
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (0 if resume else os.O_CREAT | os.O_EXCL)
        try:
            self._descriptor = os.open(path, flags, 0o644)
        except FileExistsError:
            raise UsageError(f"{path} is of an interrupted sweep: --resume does what is left of it") from None
        except FileNotFoundError:
            raise UsageError(f"{path}: there is no interrupted sweep to resume") from None
        except OSError as error:
            raise AirtollError(f"cannot write {path}: {error.strerror}") from error
        try:
            self._flushed_s = time.monotonic()
            with reporting(f"cannot write {path}"):
                self._lock()
                if resume:
                    self._take_up(sweep)
                else:
                    self._write(json.dumps(sweep))
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

    def _take_up(self, sweep: dict[str, object]) -> None:
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        head, _, _ = content.partition(b"\n")
        try:
            begun = json.loads(head)
        except ValueError:
            begun = None
        if not isinstance(begun, dict):
            raise UsageError(f"{self.path}: is not the journal of a sweep")
        for key, value in sweep.items():
            if begun.get(key) != value:
                raise UsageError(
                    f"{self.path}: cannot resume: {key} is {value}, was {begun.get(key)}: it is of another sweep"
                )
        os.ftruncate(self._descriptor, whole)
        self.done = {place for place, _ in self.cells()}

    def append(self, place: int, answer: str) -> None:
        """Keep the answer of the cell at that place of the grid; of a cell that is kept already, nothing."""
        if place in self.done:
            return
        with reporting(f"cannot write {self.path}"):
            self._write(f"{place} {answer}")
            self.done.add(place)
            if time.monotonic() - self._flushed_s > _FLUSH_S:
                os.fsync(self._descriptor)
                self._flushed_s = time.monotonic()

    def _write(self, line: str) -> None:
        content = line.encode() + b"\n"
        if os.write(self._descriptor, content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def cells(self) -> Iterator[tuple[int, str]]:
        """Every cell that is kept: its place in the grid and its answer, in the order in which they ended."""
        with self.path.open(encoding="utf-8") as lines:
            next(lines, None)
            for number, line in enumerate(lines, start=2):
                match = _LINE.fullmatch(line)
                if match is None:
                    raise AirtollError(f"{self.path}: line {number} is damaged")
                yield int(match[1]), match[2]

    def remove(self) -> None:
        """Remove it: what it has is in the table."""
        with reporting(f"cannot remove {self.path}"):
            self.path.unlink()

    def close(self) -> None:
        """Flush it and let others have it."""
        with reporting(f"cannot write {self.path}"):
            os.fsync(self._descriptor)
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
