"""Proofs about the modules with Yosys and its ABC: properties that hold for every input, not only in simulations.

Property directed reachability (`pdr`) proves a property for unlimited time after the reset. Where that takes too long,
`cycles` is set, and the property is proved for this number of cycles after the reset (`bmc3`). Proofs in `LONG` take a
minute or more; `make test` proves the same property with a smaller bound.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from aes import SUBSTITUTES
from runner import BUILD, RTL, need, sources

FORMAL = Path(__file__).parent


class Proof(NamedTuple):
    """A proof of the properties in `<module>_properties.v`."""

    name: str
    module: str
    cycles: int | None = None
    parameters: Mapping[str, int] = {}


# More slots, keys and tags do not change the proved properties, but take time.
SMALL = {"SLOT_W": 1, "KEY_W": 1, "TAG_W": 1}

PROOFS = (
    Proof("a_ring_of_registers_keeps_the_order", "ring", parameters={"DEPTH": 3}),
    Proof("a_ring_of_memory_keeps_the_order", "ring", parameters={"DEPTH": 9}),
    Proof("memory_gives_what_was_written", "ram_sdp"),
    Proof("the_packer_loses_no_octet", "octet_packer", 10),
    Proof("streams_are_stable_and_no_frame_leaves_unless_its_verdict_is_good", "mpdu_out", 32, SMALL),
    Proof("frames_inside_never_exceed_slots_and_blocks", "mpdu_in", 40),
    Proof("a_key_waits_for_its_words_and_frames_for_it", "key_table", parameters={"KEY_W": 1}),
)

LONG = (Proof("streams_are_stable_without_a_bound", "mpdu_out", parameters=SMALL),)


def run(command: Sequence[str], log: Path) -> str:
    """Run a program and return its output; AssertionError if it fails."""
    done = subprocess.run(command, cwd=log.parent, capture_output=True, text=True, check=False)
    log.write_text(done.stdout + done.stderr)
    assert done.returncode == 0, f"{log}\n{(done.stdout + done.stderr)[-2000:]}"
    return done.stdout


@pytest.mark.parametrize(
    "proof",
    [
        *(pytest.param(proof, id=proof.name) for proof in PROOFS),
        *(pytest.param(proof, id=proof.name, marks=pytest.mark.long) for proof in LONG),
    ],
)
def test_proof(proof: Proof) -> None:
    need("yosys", "yosys-abc")
    folder = BUILD / "formal" / proof.name
    folder.mkdir(parents=True, exist_ok=True)
    top = f"{proof.module}_properties"
    files = " ".join(str(file) for file in sources())
    parameters = "".join(f"chparam -set {name} {value} {top}; " for name, value in proof.parameters.items())
    script = (
        f"read_verilog -formal -sv -I{RTL / 'rtl'} {files} {FORMAL / f'{top}.v'}; {parameters}"
        f"hierarchy -check -top {top}; proc; setattr -unset keep_hierarchy t:*; flatten; "
        "setundef -undriven -anyseq; opt -full; memory -nordff; "
        "async2sync; techmap; opt -fast; dffunmap; opt_clean; abc -g AND; opt_clean; "
        "write_aiger -I -B -zinit -no-startoffset model.aig"
    )
    run(["yosys", "-q", "-p", script], folder / "yosys.log")
    # Counterexamples to generalization (`-nc`) and merged registers make the longest proof six times as fast.
    prove = "dc2; lcorr; scorr; dc2; pdr -nc" if proof.cycles is None else f"bmc3 -F {proof.cycles}"
    said = run(["yosys-abc", "-c", f"read_aiger model.aig; fold; strash; {prove}"], folder / "abc.log")
    # ABC's exit status is 0 even if the proof fails.
    proved = "Property proved" if proof.cycles is None else f"No output asserted in {proof.cycles} frames"
    assert proved in said, f"{folder / 'abc.log'}\n{said[-1000:]}"


def test_composite_sbox_is_the_table_of_fips_197() -> None:
    need("yosys")
    folder = BUILD / "formal" / "sbox"
    folder.mkdir(parents=True, exist_ok=True)
    table = int.from_bytes(SUBSTITUTES, "little")
    files = " ".join(str(file) for file in sorted((RTL / "rtl").glob("aes_sbox*.v")))
    top = "aes_sbox_properties"
    script = (
        f"read_verilog -sv -DTABLE=2048'h{table:x} {files} {FORMAL / f'{top}.v'}; hierarchy -check -top {top}; "
        "proc; flatten; opt; sat -verify -prove differs 0"
    )
    run(["yosys", "-q", "-p", script], folder / "yosys.log")
