"""What a running end of `airtoll link` says of itself, on its status socket."""

import socket
from pathlib import Path
from typing import Final

_PATIENCE_S: Final = 5


def ask_link(path: Path, request: str) -> str:
    """The answer to `status` (JSON) or `openmetrics`; OSError if nobody answers there in time."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PATIENCE_S)
        connection.connect(str(path))
        connection.sendall(f"{request}\n".encode())
        answer = b""
        while octets := connection.recv(1 << 16):
            answer += octets
    return answer.decode()
