"""The ways in which a command ends badly; the command line prints one line and exits with the code."""


class AirtollError(Exception):
    """Something a user can act on: `str(error)` is one line that says what is wrong and where."""

    exit_code = 1


class UsageError(AirtollError):
    """What was asked for cannot be done as asked: bad file, key, option or missing tool."""

    exit_code = 2


class StoppedError(AirtollError):
    """Stopped by Ctrl-C; 130 is what a shell reports for that."""

    exit_code = 130
