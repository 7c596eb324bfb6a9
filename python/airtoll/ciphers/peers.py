"""The program `airtoll-peers`, which measures the engine beside other libraries: where it is, and how it is asked."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from airtoll import programs
from airtoll.errors import AirtollError

NAME: Final = "airtoll-peers"
FOLDER: Final = Path(__file__).parent / "programs"
"""A wheel contains the program here. In a checkout, cargo builds it and it is installed here."""


def program() -> Path:
    """The program, up to date. In a checkout, cargo builds it if a source changed.

    Raises UsageError without cargo, and AirtollError if the build fails or if the installation lacks the program.
    """
    root = programs.checkout()
    if root is not None:
        # Cargo then compiles the engine with the same features as the extension, and so not again.
        packages = [f"--package={name}" for name in ("airtoll-agent", "airtoll-py", "wlan-peers")]
        arguments = ["--release", *packages, "--features=airtoll-py/extension-module", "--bin", NAME]
        product = "the comparison with OpenSSL and libipsec-mb"
        return programs.cargo_build(root, arguments, product, "once, a few minutes", FOLDER)
    file = FOLDER / NAME
    if not file.is_file():
        raise AirtollError(
            f"ciphers: this installation lacks the program {NAME}; install airtoll from a wheel"
        )
    return file


class Peers:
    """A running program. A context manager: the program ends with the context."""

    def __init__(self, file: Path) -> None:
        # In a session of its own, so that Ctrl-C only reaches Python, which prints the measurements up to that point.
        try:
            self._process = subprocess.Popen(
                [file, "serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            raise AirtollError(f"ciphers: cannot run {file}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()  # it has nothing to store
        with suppress(BrokenPipeError):
            self._process.__exit__(kind, value, traceback)

    def ask(self, request: str, **values: object) -> dict[str, Any]:
        """The answer to a request of crates/wlan-peers/src/serve.rs. Raises AirtollError if it is an error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"request": request, **values}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise AirtollError(f"ciphers: {NAME} ended: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise AirtollError(f"ciphers: {answer['error']}")
        return answer

    def _last_words(self) -> str:
        assert self._process.stderr is not None
        lines = self._process.stderr.read().split("\n")
        status = self._process.wait()
        return next((line for line in lines if line), f"exit status {status}")
