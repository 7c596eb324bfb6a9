"""Errors that end a command: the command line prints one line and exits with the error's code."""


class AirtollError(Exception):
    """An error that a user can act on: `str(error)` is one line that says what is wrong and where."""

    exit_code = 1


class UsageError(AirtollError):
    """An invalid request: a bad file, key or option, or a missing tool."""

    exit_code = 2


class StoppedError(AirtollError):
    """Stopped by Ctrl-C. A shell reports this as exit code 130."""

    exit_code = 130
