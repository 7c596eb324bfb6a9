"""Files that decide what airtoll runs, folders that it writes into, and who else can change them."""

import grp
import os
import pwd
import re
import stat
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Final

from airtoll.errors import UsageError
from airtoll.study.quantity import one_line

ROOT: Final = 0
"""The user id of root."""

SUBORDINATE: Final = Path("/etc/subuid")
"""The user ids that accounts use in their containers, and as which they own files outside (subuid(5))."""

_RANGE: Final = re.compile(r"^[^:\n]*:([0-9]+):([0-9]+)$", re.MULTILINE)


def check_owner(path: Path, found: os.stat_result, does: str, instead: str) -> None:
    """Raise UsageError if another user than root can change a file or a folder, whose status is `found`.

    Under sudo(8), the caller's own file is accepted. `does` says what the file decides, and `instead` what to do if it
    belongs to another user.
    """
    name = one_line(str(path), most=4096)
    if not _is_ours(found):
        raise UsageError(f"{name}: belongs to another user, and {does}: {instead}")
    if _is_writable(found):
        raise UsageError(f"{name}: other users can write to it, and {does}: chmod go-w {quote(name)}")


def check_folder(folder: Path) -> None:
    """Raise UsageError if airtoll runs as root, and another user can replace files in a folder that it writes into.

    In a sticky folder, such as /tmp, users can replace only their own files. Other users than root may share a folder,
    such as that of a group. The owner of a folder that is mounted into a container is no user there. Raises OSError if
    there is no folder.
    """
    found = folder.stat()
    if os.geteuid() != ROOT:
        return
    if not _is_ours(found) and _is_user(found.st_uid):
        fault = "belongs to another user"
    elif _is_writable(found) and not found.st_mode & stat.S_ISVTX:
        fault = "other users can write to it"
    else:
        return
    name = one_line(str(folder), most=4096)
    raise UsageError(
        f"{name}: {fault}: as root, airtoll writes only into folders that no other user can write to"
    )


def _is_ours(found: os.stat_result) -> bool:
    """Whether a file belongs to root or to the user, also the user of sudo(8)."""
    sudo = os.environ.get("SUDO_UID", "")
    return found.st_uid in {ROOT, os.geteuid(), *([int(sudo)] if sudo.isdecimal() else [])}


def _is_user(uid: int) -> bool:
    """Whether the id belongs to an account of this machine, or is one of its subordinate ids."""
    with suppress(KeyError):
        pwd.getpwuid(uid)
        return True
    with suppress(OSError):
        ranges = _RANGE.findall(SUBORDINATE.read_text(encoding="utf-8", errors="replace"))
        return any(int(first) <= uid < int(first) + int(count) for first, count in ranges)
    return False


def _is_writable(found: os.stat_result) -> bool:
    """Whether the mode lets other users write to a file."""
    return bool(found.st_mode & (0o002 if _is_private(found.st_gid, found.st_uid) else 0o022))


def _is_private(gid: int, uid: int) -> bool:
    """Whether the group is the user's own: many systems create such groups, and let them write to new files."""
    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(uid).pw_name
    except KeyError:
        return False
    return group.gr_name == user and not set(group.gr_mem) - {user}
