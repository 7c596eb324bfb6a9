"""Lines of a program's output, with a time limit."""

import os
import selectors
import time
from typing import IO


class Lines:
    """The lines of a pipe. Only this class may read from the pipe."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._unread = b""

    def next(self, until_s: float) -> bytes | None:
        """The next line without its end, or None at the end of the output.

        Raises TimeoutError if no complete line arrives until `until_s` (time.monotonic).
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(max(0.0, until_s - time.monotonic())):
                    raise TimeoutError
                chunk = os.read(self._pipe.fileno(), 65536)
                if not chunk:
                    return None
                self._unread += chunk
        line, self._unread = self._unread.split(b"\n", 1)
        return line
