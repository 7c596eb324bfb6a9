"""The entry point of the command. It answers `airtoll --version` without loading the command line."""

import sys


def main() -> None:
    """Run the command."""
    if sys.argv[1:] == ["--version"]:
        from airtoll._rust import VERSION

        print(f"airtoll {VERSION}")
        return
    from airtoll.cli import main as run

    run()
