"""Errors that end a command: the command line prints one line, or one per error of a file, and exits with the error's
code.
"""

from collections.abc import Sequence
from typing import Final

LISTED_MOST: Final = 10
"""The number of errors of one file that are printed."""

FAULTS_MOST: Final = 1000
"""The number of invalid values of one document that are examined: the description of each takes some 500 octets."""


def listed(errors: Sequence[str]) -> str:
    """The first errors of a file, one per line, and the number of the rest."""
    more = len(errors) - LISTED_MOST
    return "\n".join([*errors[:LISTED_MOST], *([f"and {more} more errors"] if more > 0 else [])])


class AirtollError(Exception):
    """An error that a user can act on: `str(error)` is one line that says what is wrong and where."""

    exit_code = 1


class UsageError(AirtollError):
    """An invalid request: a bad file, key or option, or a missing tool."""

    exit_code = 2


class StoppedError(AirtollError):
    """Stopped by Ctrl-C. A shell reports this as exit code 130."""

    exit_code = 130
