"""A cell of a study with default levels, which tests override."""

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
    """Make a cell; by default 802.11a, UDP over IPv4 in 1408 B, open."""
    return Cell.model_validate({**USUAL, **levels})
