"""Synthetic results with round numbers."""

from typing import Any

from airtoll.rtl import Results

MADE = {"sha256": "0" * 64, "tools": {"yosys": "0"}}


def target(lut: int, fmax_mhz: tuple[float, ...] = (), **more: Any) -> dict[str, Any]:
    runs = [
        {"seed": n, "fmax_mhz": fmax, "clk_to_clk_ns": 1000 / fmax, "tsu_ns": 2.0, "tco_ns": 3.0}
        for n, fmax in enumerate(fmax_mhz, 1)
    ]
    counts = {"lut": lut, "carry_lut": 10, "ff": 100, "ram_blocks": 4, "logic_elements": lut + 50}
    return {"made": MADE, **counts, "runs": runs, **more}


def cycles(block: int, frame: float, single_frame: int) -> dict[str, Any]:
    """Cycles of frames of one block and of 1500 B, in a stream and alone."""

    def way(each: float, alone: int) -> dict[str, float]:
        return {"cycles_a_frame": each, "first_in_to_last_out": alone, "first_in_to_verdict": alone - 1}

    sizes = ((16, block, block), (1500, frame, single_frame))
    return {
        "made": MADE,
        "frames": [{"payload_b": b, "seal": way(e, s), "open": way(e, s)} for b, e, s in sizes],
    }


def energy(lut: float) -> dict[str, Any]:
    return {
        "made": MADE,
        "target": "ecp5",
        "operation": "seal",
        "payload_b": 1500,
        "frames": 8,
        "toggles_per_payload_bit": {"lut": lut, "ff": 10.0, "clock": 10.0},
    }


def document() -> dict[str, Any]:
    """A standard design at 100 MHz, and two lanes with twice the rate, three times the logic and equal RAM blocks."""
    return {
        "schema_version": 1,
        "points": {
            "standard": {
                "title": "Standard",
                "group": "standard",
                "parameters": {"LANES": 0},
                "cycles": cycles(100, 2000, 2084),
                "targets": {
                    "ecp5": target(950, (90.0, 100.0, 120.0)),
                    "cycloneive": target(1950),
                },
                "energy": energy(180.0),
            },
            "lanes2": {
                "title": "Two lanes",
                "group": "paper",
                "parameters": {"LANES": 2},
                "cycles": cycles(80, 500, 700),
                "targets": {"ecp5": target(2950, (50.0,)), "cycloneive": target(4950)},
                "energy": energy(130.0),
            },
        },
    }


def results() -> Results:
    return Results.model_validate(document())
