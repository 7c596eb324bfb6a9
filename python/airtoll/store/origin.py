"""The origin of a result: the version of airtoll, and the machine's processor and kernel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from airtoll import _rust
from airtoll.errors import UsageError
from airtoll.labs.namespace import machine_facts

ALLOW_MIXED = "--allow-mixed"
"""The option that allows continuing a result of another origin."""


@dataclass(frozen=True)
class Origin:
    """The code and the machine on which results depend. None is unknown."""

    airtoll: str | None
    processor: str | None
    kernel: str | None

    @classmethod
    def of(cls, airtoll: str | None, machine: Mapping[str, Any]) -> Self:
        """The origin of that version of airtoll on the machine with these facts."""
        return cls(airtoll, machine.get("processor"), machine.get("kernel"))

    @classmethod
    def here(cls) -> Self:
        """The origin of this process on this machine."""
        return cls.of(_rust.VERSION, machine_facts())

    def __str__(self) -> str:
        """For example: "airtoll 0.1.0+g0123456789ab on AMD EPYC, kernel 6.18"."""
        return (
            f"airtoll {self.airtoll or 'of unknown version'} on {self.processor or 'an unknown processor'}, "
            f"kernel {self.kernel or 'unknown'}"
        )


def refuse_mixture(what: str, began: Origin, here: Origin) -> None:
    """Raise UsageError unless a result would be continued by the origin that created it."""
    if began != here:
        raise UsageError(
            f"{what}: cannot resume: {began} created it, {here} would continue it; {ALLOW_MIXED} continues it and "
            "records the origin of each part"
        )
