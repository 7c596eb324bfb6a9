"""An access point that nobody switches: it has one network for the whole study."""

from typing import Any

from airtoll.labs.network import Network


class FixedNetwork:
    """A network that exists. The report of a station tells whether it is the network that the study asks for."""

    name = "fixed"

    def __init__(self) -> None:
        self._network: Network | None = None

    def obstacle(self, network: Network) -> str | None:
        """Return why the access point cannot offer another network than the first, or None."""
        if self._network not in (None, network):
            assert self._network is not None
            levels = f"'{self._network.level}' and '{network.level}'"
            return f"access_point.kind 'fixed' has one network, and the study has security {levels}: use another kind"
        return None

    def switch(self, network: Network) -> dict[str, Any]:
        """Do nothing."""
        self._network = network
        return {"kind": self.name, "program": None}

    def is_up(self) -> bool:
        """True: nobody switches it."""
        return True

    def restore(self) -> None:
        """Do nothing: airtoll changed nothing."""
