"""Settings of a host's radio, by iw(8)."""

from collections.abc import Sequence
from typing import Final

from airtoll.labs.base import Host, succeed

_TIMEOUT_S: Final = 10.0


def allow_rates(host: Host, interface: str, words: Sequence[str]) -> None:
    """Allow the host's radio only these rates for Data frames: the arguments of `iw dev INTERFACE set bitrates`.

    Raises AirtollError if the kernel refuses them.
    """
    argv = ["iw", "dev", interface, "set", "bitrates", *words]
    succeed(host, argv, _TIMEOUT_S, f"iw on {host.name}")
