"""ccmp_core: printed MPDUs, the smallest and largest sizes, and octets that must not leave."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from core_bench import LONG_KEYS, MAX_OCTETS, Bench, bench_with_keys
from frames import frame, mac_header
from reference import BAD_MIC, REPLAYED, SEALED_OR_OPENED, SUITE, Key

VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "ccmp"
FULL_CYCLES = 12_000  # longer than a frame is in the cores
LONGEST_MSDU = 2304  # IEEE 802.11-2020 9.2.3
LONGEST_A_MSDU = 7935  # 9.4.2.55.3


def printed_mpdus() -> list[dict[str, Any]]:
    """The complete MPDUs of vectors/ccmp under the current standard, for the key lengths of the core."""
    loaded = [
        vector
        for file in ("ieee80211-data", "ieee80211-management", "ieee80211ac")
        for vector in json.loads((VECTORS / f"{file}.json").read_text())["vectors"]
        if vector.get("use", "mpdu") == "mpdu"
    ]
    return [vector for vector in loaded if LONG_KEYS or len(vector["tk"]) == 32]


@cocotb.test(skip=SUITE != "ccmp")
async def printed_mpdus_are_sealed_and_opened(dut: Any) -> None:
    bench = await Bench(dut).start()
    vectors = printed_mpdus()
    assert len(vectors) >= 5
    for vector in vectors:
        octets = {
            name: bytes.fromhex(vector[name])
            for name in ("tk", "header", "ccmp_header", "plaintext", "ciphertext", "mic")
        }
        plain = octets["header"] + octets["plaintext"]
        sealed = octets["header"] + octets["ccmp_header"] + octets["ciphertext"] + octets["mic"]
        pn = int(vector["pn"], 16)
        await bench.install(0, Key(octets["tk"], vector["key_id"], sent=pn - 1, received=pn - 1))
        bench.send(plain, 0, open_it=False)
        bench.send(sealed, 0, open_it=True)
        for _ in range(10_000):
            if len(bench.m.packets) == 2:
                break
            await RisingEdge(dut.clk)
        unprotected = plain[:1] + bytes((plain[1] & ~0x40,)) + plain[2:]
        assert [packet.octets for packet in bench.m.packets] == [sealed, unprotected], vector["name"]
        await bench.finish()


@cocotb.test()
async def the_longest_frames_pass(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    for number in range(2):
        for size, kind in ((LONGEST_MSDU, "four-htc"), (LONGEST_A_MSDU, "qos")):
            if 36 + 8 + size + 16 <= MAX_OCTETS:
                bench.send(frame(bench.rng, size, kind=kind), number, open_it=False)
                bench.send(bench.sealed(number, size, kind=kind), number, open_it=True)
    await bench.finish(300_000)


@cocotb.test()
async def a_frame_starts_in_the_cycle_after_the_last_one(dut: Any) -> None:
    """If memory is free, a frame's first word is taken in the cycle after the last word of the previous frame."""
    bench = await bench_with_keys(dut, 1)
    frames = 3
    for at in range(frames):
        bench.send(frame(bench.rng, 64 + at, kind="qos"), 0, open_it=False)
    taken: list[tuple[int, bool]] = []  # cycle, and whether the word is a frame's last one
    cycle = 0
    while not bench.s.idle:
        await RisingEdge(dut.clk)
        await ReadOnly()
        cycle += 1
        if dut.s_valid.value and dut.s_ready.value:
            taken.append((cycle, bool(dut.s_last.value)))
    gaps = [after - before for (before, last), (after, _) in pairwise(taken) if last]
    assert gaps == [1] * (frames - 1)
    await bench.finish()


@cocotb.test()
async def a_ready_that_is_up_stays_until_a_word_is_taken(dut: Any) -> None:
    """At any pace of frames and keys: a sender that waited for ready may send in that cycle or later."""
    bench = await bench_with_keys(dut)
    bench.s.busy, bench.k.busy, bench.m.busy = 0.4, 0.2, 0.3
    fell = {"s": 0, "k": 0}
    stood = {"s": 0, "k": 0}

    async def watch(name: str) -> None:
        valid, ready = getattr(dut, f"{name}_valid"), getattr(dut, f"{name}_ready")
        waits = False
        while True:
            await RisingEdge(dut.clk)
            await ReadOnly()
            fell[name] += waits and not ready.value
            waits = bool(ready.value and not valid.value)
            stood[name] += bool(valid.value and not ready.value)

    for name in fell:
        cocotb.start_soon(watch(name))
    for number in range(4):
        for _ in range(5):
            bench.send(frame(bench.rng), bench.rng.randrange(2), open_it=False)
        while not bench.s.idle:
            await RisingEdge(dut.clk)
        await bench.install(number % 2, Key(bench.random_key()))
    await bench.finish()
    assert fell == {"s": 0, "k": 0}
    assert all(stood.values()), "nothing had to wait"


@cocotb.test()
async def keys_of_both_lengths_take_turns(dut: Any) -> None:
    bench = await bench_with_keys(dut, 4)
    for _ in range(60):
        number = bench.rng.randrange(4)
        if bench.rng.random() < 0.5:
            bench.send(bench.sealed(number), number, open_it=True)
        else:
            bench.send(frame(bench.rng), number, open_it=False)
    await bench.finish()


@cocotb.test()
async def nothing_of_a_forged_or_replayed_frame_is_ever_seen(dut: Any) -> None:
    """m_data has no octets of the plaintext in any cycle in which m_valid is 1, whether they are taken or not.

    Only MICs are forged, so the memory contains the correct plaintext. Good frames are sent in between.
    """
    bench = await bench_with_keys(dut)
    bench.m.busy = 0.5
    octets_per_word = len(dut.m_data) // 8
    shown: list[bytes] = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk)
            await ReadOnly()
            if dut.m_valid.value:
                shown.append(int(dut.m_data.value).to_bytes(octets_per_word, "little"))

    cocotb.start_soon(watch())
    for number in range(2):
        header = mac_header(bench.rng, kind="data")
        secret = bench.rng.randbytes(200)
        _, sealed = bench.peer.take(header + secret, number, open_it=False)
        assert sealed is not None
        for at in (-1, -8):
            forged = sealed[:at] + bytes((sealed[at] ^ 0x10,)) + sealed[len(sealed) + at + 1 :]
            assert bench.send(forged, number, open_it=True) == BAD_MIC
        later = bench.sealed(number, 60, kind="data")
        assert bench.send(later, number, open_it=True) == SEALED_OR_OPENED
        assert bench.send(sealed, number, open_it=True) == REPLAYED
        assert bench.send(frame(bench.rng, 60), number, open_it=False) == SEALED_OR_OPENED
        await bench.finish()
        hidden = {secret[at : at + 4] for at in range(len(secret) - 3)}
        there = {word[at : at + 4] for word in shown for at in range(octets_per_word - 3)}
        assert len(there) > 20
        assert not hidden & there, "m_data has plaintext"


@cocotb.test()
async def a_stalled_receiver_loses_nothing(dut: Any) -> None:
    """No verdict and no frame is taken until all memory is full and the core accepts no more frames."""
    bench = await bench_with_keys(dut)
    bench.v.busy = bench.m.busy = 0.0
    for _ in range(24 if len(dut.m_data) < 128 else 90):  # wide designs have more slots
        bench.send(frame(bench.rng, 700), bench.rng.randrange(2), open_it=False)
    stands = 0
    for _ in range(150_000):
        await RisingEdge(dut.clk)
        await ReadOnly()
        stands = stands + 1 if dut.s_valid.value and not dut.s_ready.value else 0
        if stands == FULL_CYCLES:
            break
    assert stands == FULL_CYCLES, "the core never stopped accepting frames"
    assert dut.v_valid.value
    bench.v.busy = bench.m.busy = 1.0
    await bench.finish()
