"""Files that are on the disk completely or not at all, the lock, and checksums.

A directory is published in four steps: write it under a temporary name, flush its files and directories to the disk,
rename it, flush its parent. rename(2) is atomic, and everything with a final name was flushed before.
"""

import ctypes
import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Final

from airtoll.errors import AirtollError, UsageError
from airtoll.ownership import check_folder

TEMPORARY: Final = ".tmp-"
"""Prefix of the names of unfinished files and directories."""

LOCK: Final = ".lock"
SUMS: Final = "SHA256SUMS"

_SUMS_LINE = re.compile(r"([0-9a-f]{64})  ([^\\\n]+)")


@contextmanager
def reporting(doing: str) -> Iterator[None]:
    """Turn an OSError into one line: the operation and the reason for its failure."""
    try:
        yield
    except OSError as error:
        raise AirtollError(f"{doing}: {error.strerror or error}") from error


@contextmanager
def staging(parent: Path, name: str) -> Iterator[Path]:
    """A new directory with a temporary name in `parent`. It is removed at the end unless it has been renamed."""
    stage = parent / f"{TEMPORARY}{name}.{secrets.token_hex(4)}"
    stage.mkdir()
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def publish(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a directory. Each replaces an older file of the same name atomically.

    Raises UsageError if another user can replace files in the directory.
    """
    check_folder(directory)
    with staging(directory, "files") as stage:
        for name, content in files.items():
            write_new(stage / name, content, mode=0o666)
        for name in files:
            (stage / name).replace(directory / name)
        sync(directory)


def remove_leftovers(directory: Path) -> None:
    """Remove unfinished files that a crash left in the directory. Only the holder of the lock may call this."""
    for entry in directory.iterdir():
        if entry.name.startswith(TEMPORARY):
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents, and flush them to the disk. The directory may already exist.

    Raises UsageError if another user can replace files in it, or in the directory in which it is created.
    """
    if not path.exists():
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)
    check_folder(path)


def write_new(path: Path, content: bytes, *, flush: bool = True, mode: int = 0o444) -> None:
    """Write a new file with the mode (subject to the umask), by default read-only, and flush it to the disk.

    Without `flush`, the caller must flush the file before it gets its final name.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, mode)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if flush:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move_in(source: Path, target: Path) -> None:
    """Move a finished file to its final path, make it read-only and flush it to the disk.

    Raises OSError if it is no regular file, as `open_regular` does.
    """
    shutil.move(source, target)
    with open_regular(target) as file:
        os.fchmod(file.fileno(), stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o444)
    sync(target)


def sync(path: Path) -> None:
    """Flush a file, or the entries of a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # fsync(2): EINVAL if the file system cannot flush such a file; some cannot flush directories.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def sync_all(directory: Path) -> None:
    """Flush the complete file system of the directory to the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:  # syncfs(2): not in Python
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(descriptor)


def sync_directories(root: Path) -> None:
    """Flush the entries of a directory and of all directories below it."""
    for directory, _, _ in os.walk(root, topdown=False):
        sync(Path(directory))


def sums(root: Path, names: Iterable[str]) -> str:
    """The content of a SHA256SUMS file, in the format of sha256sum(1), for files named relative to `root`."""
    return sums_of({name: sha256(root / name) for name in sorted(names)})


def sums_of(digests: Mapping[str, str]) -> str:
    """The content of a SHA256SUMS file for digests by file name."""
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items())


def open_regular(path: Path) -> BufferedReader:
    """Open a file of a result. Raises OSError for a device or a pipe, which may never end, and for a link, which may
    lead to a private file of the user.
    """
    # Opening a pipe waits for its writer unless the descriptor does not block.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.fdopen(os.open(path, flags), "rb")
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "is a link") from None
        raise
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file")
    return file


def is_regular(path: Path) -> bool:
    """Whether `open_regular` opens the path."""
    return path.is_file() and not path.is_symlink()


def sha256(path: Path) -> str:
    """SHA-256 of the file, in hexadecimal. Raises OSError, as `open_regular` does."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parse_sums(content: str) -> dict[str, str]:
    """Digests by file name. Raises ValueError for a line that airtoll would not have written."""
    digests: dict[str, str] = {}
    if not content.endswith("\n"):
        raise ValueError("the last line is not complete")
    for number, line in enumerate(content.split("\n")[:-1], start=1):
        match = _SUMS_LINE.fullmatch(line)
        if match is None or match[2] in digests:
            raise ValueError(f"line {number} is malformed")
        digests[match[2]] = match[1]
    return digests


def files_in(root: Path) -> set[str]:
    """Names, relative to `root`, of all entries below it that are not directories."""
    return {
        (Path(directory) / name).relative_to(root).as_posix()
        for directory, directories, files in os.walk(root)
        for name in [*files, *(d for d in directories if (Path(directory) / d).is_symlink())]
    }


class Lock:
    """Prevents other processes from recording into the directory, until `release` or the end of this process.

    The kernel releases a flock(2) when its holder ends, so the lock file of a killed process blocks nobody.
    """

    def __init__(self, directory: Path) -> None:
        path = directory / LOCK
        while True:
            # A link in a stranger's directory must not make airtoll create a file elsewhere.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The last holder may have removed the file between open and lock.
                if _is_file(path, descriptor):
                    break
            except BlockingIOError:
                os.close(descriptor)
                raise UsageError(f"{directory}: another airtoll is recording into it") from None
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        self._finalizer = weakref.finalize(self, _release, path, descriptor)

    def release(self) -> None:
        """Release the lock. May be called more than once."""
        self._finalizer()


def _is_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _release(path: Path, descriptor: int) -> None:
    try:
        path.unlink()  # while it is still locked: see __init__
    except OSError:
        pass  # a leftover lock file blocks nobody
    finally:
        os.close(descriptor)
