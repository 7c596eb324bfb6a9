"""The entry point of the command. It answers `airtoll --version` without loading the command line."""

import os
import sys


def main() -> None:
    """Run the command."""
    if sys.argv[1:] == ["--version"]:
        from airtoll._rust import VERSION

        try:
            print(f"airtoll {VERSION}", flush=True)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):
                return
            print(f"airtoll: {error.strerror}", file=sys.stderr)
            raise SystemExit(1) from None
        return
    try:
        from airtoll.cli import main as run

        run()
    except KeyboardInterrupt:  # before the command began, or while it ended
        print("airtoll: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
