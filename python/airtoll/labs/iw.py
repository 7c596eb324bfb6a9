"""Settings of a host's radio, by iw(8)."""

import re
from collections.abc import Sequence
from typing import Final

from airtoll.host import Host, succeed

_TIMEOUT_S: Final = 10.0


def channel(host: Host, interface: str) -> tuple[int, int] | None:
    """The centre of the primary channel and the width of the channel in MHz; None without a channel."""
    text = _iw(host, interface, "info").decode(errors="replace")
    found = re.search(r"^\tchannel \d+ \((\d{1,6}) MHz\), width: (\d{1,6}) MHz", text, re.MULTILINE)
    return None if found is None else (int(found[1]), int(found[2]))


def protects_management(host: Host, interface: str) -> bool | None:
    """Whether a station protects management frames with its access point; None if it has none."""
    text = _iw(host, interface, "station", "dump").decode(errors="replace")
    found = re.search(r"^\tMFP:\s+(yes|no)$", text, re.MULTILINE)
    return None if found is None else found[1] == "yes"


def allow_rates(host: Host, interface: str, words: Sequence[str]) -> None:
    """Allow the host's radio only these rates for Data frames: the arguments of `iw dev INTERFACE set bitrates`.

    Raises AirtollError if the kernel refuses them.
    """
    _iw(host, interface, "set", "bitrates", *words)


def _iw(host: Host, interface: str, *words: str) -> bytes:
    return succeed(host, ["iw", "dev", interface, *words], _TIMEOUT_S, f"iw on {host.name}")
