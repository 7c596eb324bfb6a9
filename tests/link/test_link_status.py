"""`airtoll link status` reads the answer of any program that has the socket."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, repeat
from pathlib import Path
from threading import Thread

import pytest


@contextmanager
def link(path: Path, answer: Iterator[bytes]) -> Iterator[None]:
    """A program at the socket that answers the first request with these octets."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.recv(100)
            for octets in answer:
                connection.sendall(octets)

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        serving = Thread(target=serve)
        serving.start()
        yield
        serving.join(timeout=10)
        assert not serving.is_alive()


def test_an_answer_does_not_drive_the_terminal(
    airtoll: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    with link(tmp_path / "link.sock", iter([b"# \x1b]0;title\x07\n"])):
        assert airtoll("link", "status", "--openmetrics", "--socket", tmp_path / "link.sock") == (
            0,
            "# \\x1b]0;title\\x07\n",
            "",
        )


@pytest.mark.parametrize("form", ["--json", "--openmetrics"])
def test_an_answer_without_an_end_is_refused(
    airtoll: Callable[..., tuple[int, str, str]], tmp_path: Path, form: str
) -> None:
    with link(tmp_path / "link.sock", chain([b"{"], repeat(b" " * 65536))):
        status, out, err = airtoll("link", "status", form, "--socket", tmp_path / "link.sock")
    assert (status, out) == (1, "")
    assert err == (f"airtoll: {tmp_path}/link.sock: is not the socket of a link: its answer does not end\n")
