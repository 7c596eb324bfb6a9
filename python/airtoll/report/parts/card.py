"""The place of encryption in a study and, if it is the card, the times of the card's processor."""

from collections.abc import Mapping
from typing import Final

from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.study.quantity import CLOCK, FRAME_TIME, OCTET_TIME, Quantity

_TIMES: Final[Mapping[str, Quantity]] = {
    "forward_ipv4": FRAME_TIME,
    "forward_ipv6": FRAME_TIME,
    "forward_byte": OCTET_TIME,
    "forward_latency": FRAME_TIME,
    "processor_frame": FRAME_TIME,
    "processor_byte": OCTET_TIME,
    "processor_latency": OCTET_TIME,
    "processor_clock": CLOCK,
}
"""The settings of `[link]` that describe the card's processor."""


def place(data: ReportData) -> str:
    """Where frames are encrypted, with the settings of the card's processor that are not 0."""
    at = {run.run.cell.crypto_at for run in data.runs}
    settings = data.plan.link.model_dump(include=set(_TIMES), exclude_none=True)
    processor = ", ".join(f"{name} {_TIMES[name].text(value)}" for name, value in settings.items() if value)
    if at == {"host"}:
        return "none: hosts encrypt the frames"
    where = text.listing(text.factor("crypto_at", each) for each in sorted(at))
    return text.joined(where + ("," if processor else ""), processor)


def sentence(data: ReportData) -> str | None:
    """The card of a study whose frames are encrypted on cards; None without cards."""
    if {run.run.cell.crypto_at for run in data.runs} == {"host"}:
        return None
    fitted = (
        " `airtoll fit STUDY` fits these settings to the published figures."
        if data.publication is not None
        else ""
    )
    return f"Place of encryption, and the modelled processor of the cards: {place(data)}.{fitted}"
