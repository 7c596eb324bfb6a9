"""Files that decide what airtoll runs, and who else can change them."""

import grp
import os
import pwd
from pathlib import Path
from shlex import quote
from typing import Final

from airtoll.errors import UsageError
from airtoll.study.quantity import one_line

ROOT: Final = 0
"""The user id of root."""


def check_owner(path: Path, found: os.stat_result, does: str, instead: str) -> None:
    """Raise UsageError if another user than root can change a file or a folder, whose status is `found`.

    Under sudo(8), the caller's own file is accepted. `does` says what the file decides, and `instead` what to do if it
    belongs to another user.
    """
    callers = {
        ROOT,
        os.geteuid(),
        *([int(uid)] if (uid := os.environ.get("SUDO_UID", "")).isdecimal() else []),
    }
    name = one_line(str(path), most=4096)
    if found.st_uid not in callers:
        raise UsageError(f"{name}: belongs to another user, and {does}: {instead}")
    if found.st_mode & (0o002 if _is_private(found.st_gid, found.st_uid) else 0o022):
        raise UsageError(f"{name}: other users can write to it, and {does}: chmod go-w {quote(name)}")


def _is_private(gid: int, uid: int) -> bool:
    """Whether the group is the user's own: many systems create such groups, and let them write to new files."""
    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(uid).pw_name
    except KeyError:
        return False
    return group.gr_name == user and not set(group.gr_mem) - {user}
