"""An FTP server for one transfer of a generated file: a program of its own, run on the host of a link's server.

    ftp_server.py ADDRESS PORT SECONDS INTERVAL

It serves one session (RFC 959, passive, also RFC 2428's EPSV), in which the client reads or writes the file `payload`.
Reads return zeros until SECONDS have passed; writes are discarded. The server accesses no disk and has no other file.
Then it prints one line of JSON and exits:

    {"pyftpdlib": "2.2.0", "direction": "down", "octets": 123, "complete": true, "trace": [[t_ns, octets], ...]}

`trace` gives, every INTERVAL seconds from the start of the transfer, how many octets of the data connection the
receiver's TCP had received: acknowledged by the client, or received from it. The kernel counts both (tcp(7), TCP_INFO).
"""

import json
import socket
import struct
import sys
import time
import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # pyftpdlib uses asyncore
    import pyftpdlib  # type: ignore[import-untyped]
    from pyftpdlib.authorizers import DummyAuthorizer  # type: ignore[import-untyped]
    from pyftpdlib.filesystems import AbstractedFS  # type: ignore[import-untyped]
    from pyftpdlib.handlers import FTPHandler  # type: ignore[import-untyped]
    from pyftpdlib.ioloop import IOLoop  # type: ignore[import-untyped]
    from pyftpdlib.servers import FTPServer  # type: ignore[import-untyped]

USER = "airtoll"
FILE = "payload"

_ACKED_AND_RECEIVED = 120
"""Offset of tcpi_bytes_acked and tcpi_bytes_received, both 64 bits wide, in the kernel's struct tcp_info."""


class ServedTransfer:
    """The one transfer of this server."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.direction = ""
        self.began_ns = 0
        self.octets = 0
        self.complete = False
        self.over = False
        self.data: socket.socket | None = None
        self.trace: list[tuple[int, int]] = []

    def begin(self, direction: str) -> None:
        self.direction = direction
        self.began_ns = time.monotonic_ns()

    def sample(self) -> None:
        """Record how many octets have arrived. Does nothing once the connection is closed."""
        if self.data is None or not self.direction:
            return
        try:
            info = self.data.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        except OSError:
            return
        acked, received = struct.unpack_from("=QQ", info, _ACKED_AND_RECEIVED)
        now_ns = time.monotonic_ns() - self.began_ns
        self.trace.append((now_ns, acked if self.direction == "down" else received))


class Payload:
    """The object that pyftpdlib uses as an open file."""

    name = FILE
    closed = False

    def __init__(self, transfer: ServedTransfer, mode: str) -> None:
        self._transfer = transfer
        transfer.begin("down" if "r" in mode else "up")

    def read(self, size: int) -> bytes:
        transfer = self._transfer
        if time.monotonic_ns() - transfer.began_ns >= transfer.seconds * 1e9:
            return b""
        transfer.octets += size
        return bytes(size)

    def write(self, data: bytes) -> int:
        self._transfer.octets += len(data)
        return len(data)

    def close(self) -> None:
        self.closed = True


def _handlers(transfer: ServedTransfer) -> type[FTPHandler]:
    class OneFile(AbstractedFS):  # type: ignore[misc]  # pyftpdlib has no types
        def open(self, filename: str, mode: str) -> Payload:
            if filename != f"/{FILE}" or transfer.direction:
                raise OSError(2, "there is one file, for one transfer")
            return Payload(transfer, mode)

        def isfile(self, path: str) -> bool:  # noqa: ARG002  (the file has no size to report)
            return False

        def validpath(self, path: str) -> bool:
            return path in {"/", f"/{FILE}"}

    class Data(FTPHandler.dtp_handler):  # type: ignore[misc]
        def __init__(self, sock: socket.socket, channel: Any) -> None:
            super().__init__(sock, channel)
            transfer.data = sock

        def close(self) -> None:
            transfer.sample()
            transfer.data = None
            super().close()

    class Session(FTPHandler):  # type: ignore[misc]
        authorizer = DummyAuthorizer()
        abstracted_fs = OneFile
        dtp_handler = Data
        use_sendfile = False  # there is no file to send from
        banner = "airtoll"

        def on_file_sent(self, file: str) -> None:  # noqa: ARG002
            transfer.complete = True

        def on_file_received(self, file: str) -> None:  # noqa: ARG002
            transfer.complete = True

        def on_disconnect(self) -> None:
            transfer.over = True

    Session.authorizer.add_user(USER, "", "/", perm="rw")
    return Session


def main() -> int:
    """Serve one session."""
    address, port = sys.argv[1], int(sys.argv[2])
    seconds, interval_s = float(sys.argv[3]), float(sys.argv[4])
    transfer = ServedTransfer(seconds)
    loop = IOLoop()
    try:
        server = FTPServer((address, port), _handlers(transfer), ioloop=loop)
    except OSError as error:
        print(f"port {port} of {address}: {error.strerror or error}", file=sys.stderr)
        return 1
    server.max_cons = 2  # the session and its data connection
    loop.call_every(interval_s, transfer.sample)
    while not transfer.over:
        loop.loop(timeout=interval_s / 10, blocking=False)
    server.close_all()
    print(
        json.dumps(
            {
                "pyftpdlib": pyftpdlib.__ver__,
                "direction": transfer.direction,
                "octets": transfer.octets,
                "complete": transfer.complete,
                "trace": transfer.trace,
            },
            separators=(",", ":"),
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
