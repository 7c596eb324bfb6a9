#!/usr/bin/env python3
"""Draw waveforms of a frame in ccmp_core from a simulation, as WaveJSON and SVG.

    rtl/doc/waveform.py    # figures/waveform-standard.svg, figures/waveform-turns.svg, and their WaveJSON

One QoS Data frame is sealed in an idle core by ccm_lanes with one AES core (the standard form of CCMP), and by
ccm_turns. The simulator's record (rtl/tb/ccmp_core/record_waveform.py) is drawn unchanged, without the cycles in which
nothing changes. Blocks in the AES core are identified by their content, which is computed from key, nonce, AAD and
payload.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from airtoll.errors import AirtollError

try:
    import wavedrom
except ImportError as error:
    raise SystemExit(f"not installed: {error.name}: pip install {error.name}") from None

DOC: Final = Path(__file__).resolve().parent
FIGURES: Final = DOC / "figures"

FORMS: Final = {
    "standard": ("CCMP-128 with one AES core, one round per cycle (LANES = 0)", {"W": 32, "LANES": 0}),
    "turns": ("CCMP-128 by ccm_turns, one frame in an idle core", {"W": 32, "CORES": 1, "FRAMES": 5}),
}

COLUMNS: Final = 16  # per line, readable on a page
KEPT: Final = 3  # longest drawn series of cycles without change; longer series become one cycle and a gap

ASIDE: Final = 14
"""Pixels by which names are moved to the left, because text in a line's first cycle extends to the left."""

BLOCK_B: Final = 16
CCMP_HEADER_B: Final = 8
MIC_B: Final = 8

# WaveDrom's data states, by colour.
WHITE, YELLOW, ORANGE, BLUE, GREEN = "=", "3", "4", "5", "7"
COLOURS: Final = {"header": YELLOW, "CCMP": ORANGE, "data": BLUE, "MIC": GREEN}
"""Colours of the parts of an MPDU (IEEE 802.11-2020 12.5.3.2)."""

State = tuple[str, str, int]
"""A wave's letter, its text, and a number that distinguishes it from another state with the same look."""

NOTHING: Final[State] = ("x", "", 0)
IDLE: Final[State] = ("z", "", 0)


@dataclass
class Row:
    """A signal, cycle by cycle."""

    name: str
    states: list[State] = field(default_factory=list)


@dataclass(frozen=True)
class Record:
    """The record of a simulation."""

    key: bytes
    header: bytes
    payload: bytes
    cycles: list[dict[str, Any]]

    def blocks(self) -> dict[str, str]:
        """Names of all blocks that AES encrypts, by content (RFC 3610 sections 2.2, 2.3; IEEE 802.11-2020 12.5.3.3)."""
        aes = Cipher(algorithms.AES(self.key), modes.ECB()).encryptor()  # noqa: S305
        nonce = bytes((self.header[24] & 0x0F,)) + self.header[10:16] + (1).to_bytes(6, "big")
        fc = bytes((self.header[0] & 0x8F, self.header[1] & 0x47 | 0x40))
        aad = fc + self.header[4:22] + bytes((self.header[22] & 0x0F, 0, self.header[24] & 0x0F, 0))
        text = [*_blocks(len(aad).to_bytes(2, "big") + aad), *_blocks(self.payload)]
        names = ["AAD 1", "AAD 2", *(f"P{at + 1}" for at in range(len(text) - 2))]
        block = b"\x59" + nonce + len(self.payload).to_bytes(2, "big")
        found = {block.hex(): "B0"}
        for name, octets in zip(names, text, strict=True):
            block = bytes(a ^ b for a, b in zip(aes.update(block), octets, strict=True))
            found[block.hex()] = f"X + {name}"
        found |= {(b"\x01" + nonce + at.to_bytes(2, "big")).hex(): f"A{at}" for at in range(len(text) - 1)}
        return found


def _blocks(octets: bytes) -> list[bytes]:
    return [octets[at : at + BLOCK_B].ljust(BLOCK_B, b"\0") for at in range(0, len(octets), BLOCK_B)]


def simulate(parameters: dict[str, int]) -> Record:
    """Simulate the frame in the core."""
    tb = DOC.parent / "tb"
    if str(tb) not in sys.path:
        sys.path.insert(0, str(tb))
    from runner import simulate

    environment = {name: str(value) for name, value in parameters.items()}
    folder = simulate("ccmp_core", "record_waveform", parameters, environment=environment, simulator="icarus")
    found = json.loads((folder / "waveform.json").read_text())
    octets = {name: bytes.fromhex(found[name]) for name in ("key", "header", "payload")}
    return Record(**octets, cycles=found["cycles"])


def _bit(record: Record, name: str) -> Row:
    return Row(name, [("1" if cycle[name] else "0", "", 0) for cycle in record.cycles])


def _words(record: Record, stream: str, parts: Sequence[tuple[str, int]]) -> Iterator[Row]:
    """A stream's words with the parts of the MPDU in them; `parts` has names and octets, in order."""
    of = [name for name, octets in parts for _ in range(octets)]
    data, which = Row(f"{stream}_data"), Row("")
    taken = 0
    for cycle in record.cycles:
        if (word := cycle[stream]) is None:
            data.states.append(NOTHING)
            which.states.append(NOTHING)
            continue
        here = list(dict.fromkeys(of[taken : taken + len(word) // 2]))
        colour = COLOURS[here[-1]]
        data.states.append((colour, word, taken))
        which.states.append((colour, "+".join(here), 0))
        taken += len(word) // 2
    yield data
    yield which


def _in_aes(record: Record) -> Iterator[Row]:
    """The blocks in the AES core, of CTR and of CBC-MAC."""
    names = record.blocks()
    ctr, cbc = Row("CTR in AES"), Row("CBC-MAC in AES")
    inside: dict[str, State] = {}
    seen = set()
    for cycle in record.cycles:
        if cycle["gives"]:
            inside.pop(cycle["gives"] if cycle["gives"] in ("ctr", "cbc") else next(iter(inside)))
        if cycle["takes"]:
            name = names[cycle["takes"]]
            inside["ctr" if name.startswith("A") else "cbc"] = (
                YELLOW if name.startswith("A") else BLUE,
                name,
                0,
            )
            seen.add(name)
        ctr.states.append(inside.get("ctr", IDLE))
        cbc.states.append(inside.get("cbc", IDLE))
    if seen != set(names.values()):
        raise AirtollError(f"not seen in the AES core: {', '.join(sorted(set(names.values()) - seen))}")
    yield cbc
    yield ctr


def _written(record: Record) -> Iterator[Row]:
    """The words that CCM writes: ciphertext and MIC, without octets after the end of the ciphertext."""
    left, mic_left = len(record.payload), MIC_B
    text, mic = Row("ciphertext written"), Row("MIC written")
    for at, cycle in enumerate(record.cycles):
        word, of_mic = (cycle["text"] or "")[: 2 * left], (cycle["mic"] or "")[: 2 * mic_left]
        left -= len(word) // 2
        mic_left -= len(of_mic) // 2
        text.states.append((COLOURS["data"], word, at) if word else IDLE)
        mic.states.append((COLOURS["MIC"], of_mic, at) if of_mic else IDLE)
    yield text
    yield mic


def panels(record: Record) -> Iterator[tuple[str, list[Row]]]:
    """The panels for input, AES core and output, each limited to its active cycles."""
    header, payload = len(record.header), len(record.payload)
    sealed = [("header", header), ("CCMP", CCMP_HEADER_B), ("data", payload), ("MIC", MIC_B)]
    arrives = [
        _bit(record, "s_valid"),
        _bit(record, "s_ready"),
        *_words(record, "s", [("header", header), ("data", payload)]),
        _bit(record, "s_last"),
    ]
    verdict = Row(
        "v_verdict",
        [NOTHING if cycle["v"] is None else (WHITE, str(cycle["v"]), 0) for cycle in record.cycles],
    )
    leaves = [
        _bit(record, "v_valid"),
        verdict,
        _bit(record, "m_valid"),
        *_words(record, "m", sealed),
        _bit(record, "m_last"),
    ]
    inside = [*_in_aes(record), *_written(record)]
    at_work = [any(row.states[at] != IDLE for row in inside) for at in range(len(record.cycles))]
    yield "the MPDU arrives", _between(arrives, [cycle["s_valid"] for cycle in record.cycles], record)
    yield "CCM", _between(inside, at_work, record)
    out = [cycle["v_valid"] or cycle["m_valid"] for cycle in record.cycles]
    yield "verdict, then the MPDU leaves", _between(leaves, out, record)


def _between(rows: list[Row], happens: list[bool], record: Record) -> list[Row]:
    """Rows from one cycle before the first active cycle to one after the last, with the numbers of the cycles."""
    when = [at for at, does in enumerate(happens) if does]
    first, end = max(when[0] - 1, 0), min(when[-1] + 2, len(record.cycles))
    origin = next(at for at, cycle in enumerate(record.cycles) if cycle["s"] is not None)
    numbers: list[State] = [(WHITE, str(at - origin), at) for at in range(first, end)]
    return [Row("cycle", numbers), *(Row(row.name, row.states[first:end]) for row in rows)]


def lines(title: str, rows: list[Row]) -> Iterator[dict[str, Any]]:
    """WaveJSON of a panel, in lines of readable length: columns are cycles, or gaps (None)."""
    signals = rows[1:]
    columns: list[int | None] = []
    at, cycles = 0, len(rows[0].states)
    while at < cycles:
        same = at + 1
        while same < cycles and all(row.states[same] == row.states[at] for row in signals):
            same += 1
        columns += range(at, same) if same - at <= KEPT else (at, None)
        at = same
    length = -(-len(columns) // -(-len(columns) // COLUMNS))
    start = 0
    while start < len(columns):
        end = start + length
        if columns[end : end + 1] == [None]:  # no line begins with a gap
            end += 1
        line = columns[start:end]
        yield {
            "signal": [_wave(row, line) for row in rows],
            "config": {"hscale": 2},
            "head": {"text": title if start == 0 else f"{title} (continued)"},
        }
        start = end


def _wave(row: Row, line: list[int | None]) -> dict[str, Any]:
    wave, data = "", []
    before: State | None = None
    for column in line:
        if column is None:  # a gap must not cross text
            wave += "." if before and before[1] and row.name != "cycle" else "|"
            continue
        state = row.states[column]
        if state == before:
            wave += "."
        else:
            wave += state[0]
            if state[1]:
                data.append(state[1])
        before = state
    return {"name": row.name, "wave": wave, **({"data": data} if data else {})}


def stacked(pictures: list[str]) -> str:
    """Join SVGs of WaveDrom vertically on white; their shared shapes are included once."""
    top, width = 0.0, 0.0
    parts: list[str] = []
    for picture in pictures:
        root = picture[picture.index("<svg") :]
        size = [re.search(rf'<svg[^>]* {name}="([\d.]+)"', root) for name in ("width", "height")]
        wide, high = (float(found[1]) for found in size if found)
        root = root.replace("<svg", f'<svg x="{ASIDE}" y="{top:g}"', 1)
        root = root.replace('overflow="hidden"', 'overflow="visible"', 1)
        root = root.replace('text-anchor="end" x="-10"', f'text-anchor="end" x="{-10 - ASIDE}"')
        if parts:
            root = re.sub("<(defs|style).*?</\\1>", "", root, flags=re.DOTALL)
        parts.append(root)
        top, width = top + high + 10, max(width, wide + ASIDE)
    size_px = f'width="{width:g}" height="{top:g}" viewBox="0 0 {width:g} {top:g}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size_px}>',
            '<rect width="100%" height="100%" fill="white"/>',
            *parts,
            "</svg>\n",
        )
    )


def main() -> None:
    """Simulate and write the figures of all forms."""
    for name, (title, parameters) in FORMS.items():
        record = simulate(parameters)
        source = [line for panel, rows in panels(record) for line in lines(panel, rows)]
        source[0]["head"]["text"] = title
        text = json.dumps(source, indent=1)
        (FIGURES / f"waveform-{name}.json").write_text(text + "\n")
        drawn = [wavedrom.render(json.dumps(line)).tostring() for line in source]
        (FIGURES / f"waveform-{name}.svg").write_text(stacked(drawn))


if __name__ == "__main__":
    try:
        main()
    except AirtollError as error:
        sys.exit(f"waveform: {error}")
