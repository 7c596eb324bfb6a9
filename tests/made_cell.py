"""A cell of a study, with whatever levels a test wants otherwise."""

from airtoll.study.cell import Cell

USUAL: dict[str, object] = {
    "lab": "air",
    "topology": "point-to-point",
    "phy": "ofdm",
    "bandwidth": 20,
    "gi": "long",
    "rate": "54 Mbit/s",
    "transport": "udp",
    "ip": "ipv4",
    "packet_size": 1408,
    "security": "open",
}


def make_cell(**levels: object) -> Cell:
    """802.11a, UDP over IPv4 in 1408 B, open, unless told otherwise."""
    return Cell.model_validate({**USUAL, **levels})
