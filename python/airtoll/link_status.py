"""The status socket of a running `airtoll link`."""

import socket
import time
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

STATUS: Final[TypeAdapter[dict[str, Any]]] = TypeAdapter(dict[str, Any])
"""The shape of the status. An end that is ending closes the connection without an answer."""

_PATIENCE_S: Final = 5

_MOST_B: Final = 1 << 24
"""Octets of an answer, at most. The status of 2000 stations has less than 2 MiB."""


def ask_link(path: Path, request: str) -> str:
    """Send `status` (answered in JSON) or `openmetrics`. Raises OSError if an answer is too long or takes too long.

    Octets that are no text are replaced: any program may have the socket.
    """
    until_s = time.monotonic() + _PATIENCE_S
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PATIENCE_S)
        connection.connect(str(path))
        connection.sendall(f"{request}\n".encode())
        answer = bytearray()
        while octets := connection.recv(1 << 16):
            answer += octets
            if len(answer) > _MOST_B or time.monotonic() > until_s:
                raise OSError("is not the socket of a link: its answer does not end")
    return answer.decode(errors="replace")
