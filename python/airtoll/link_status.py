"""The status socket of a running `airtoll link`."""

import socket
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

STATUS: Final[TypeAdapter[dict[str, Any]]] = TypeAdapter(dict[str, Any])
"""The shape of the status. An end that is ending closes the connection without an answer."""

_PATIENCE_S: Final = 5


def ask_link(path: Path, request: str) -> str:
    """Send `status` (answered in JSON) or `openmetrics`. Raises OSError if there is no answer within 5 s.

    Octets that are no text are replaced: any program may have the socket.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PATIENCE_S)
        connection.connect(str(path))
        connection.sendall(f"{request}\n".encode())
        answer = b""
        while octets := connection.recv(1 << 16):
            answer += octets
    return answer.decode(errors="replace")
