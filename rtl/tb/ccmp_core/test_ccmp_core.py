"""ccmp_core compared with the engine of airtoll.ciphers, frame by frame."""

import os
from itertools import product
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from core_bench import LONG_KEYS, MAX_OCTETS, MOST_CYCLES, VERDICTS, Bench, bench_with_keys
from frames import SIZES, frame, mac_header
from reference import (
    BAD_HEADER,
    BAD_MIC,
    EXHAUSTED,
    KEY_MISMATCH,
    LAST_PN,
    LONG,
    NO_KEY,
    NOT_PROTECTED,
    REPLAYED,
    SEALED_OR_OPENED,
    SHORT,
    Key,
)
from streams import Packet

KINDS = ("data", "qos", "four", "four-qos", "htc", "four-htc", "management", "management-htc")


def every_kind_key_and_size(rng: Random) -> list[tuple[str, int, int]]:
    """Kinds of header, numbers of two keys and payload sizes, one of them many blocks long, in random order.

    If both keys have the same length, each frame uses one of them.
    """
    sizes = (*SIZES, 257 + rng.randrange(100))
    if LONG_KEYS:
        every = list(product(KINDS, (0, 1), sizes))
    else:
        every = [(kind, rng.randrange(2), size) for kind, size in product(KINDS, sizes)]
    rng.shuffle(every)
    return every


@cocotb.test()
async def every_kind_and_size_is_sealed(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    for kind, number, size in every_kind_key_and_size(bench.rng):
        bench.send(frame(bench.rng, size, kind=kind), number, open_it=False)
    await bench.finish(200_000)


@cocotb.test()
async def every_kind_and_size_is_opened(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    for kind, number, size in every_kind_key_and_size(bench.rng):
        assert bench.send(bench.sealed(number, size, kind=kind), number, open_it=True) == SEALED_OR_OPENED
    await bench.finish(200_000)


@cocotb.test(skip=MAX_OCTETS < 2400)
async def a_msdus_of_every_header_are_sealed_and_opened(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    for kind in ("qos", "four-qos", "htc", "four-htc"):
        for number in (0, 1):
            bench.send(frame(bench.rng, bench.rng.randrange(2305, 2330), kind=kind), number, open_it=False)
            sealed = bench.sealed(number, bench.rng.randrange(2305, 2330), kind=kind)
            assert bench.send(sealed, number, open_it=True) == SEALED_OR_OPENED
    await bench.finish(200_000)


@cocotb.test()
async def what_was_changed_on_the_way_does_not_leave(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    for size in (0, 1, 14, 40):
        for _ in range(6):
            number = bench.rng.randrange(2)
            mpdu = bytearray(bench.sealed(number, size, kind="qos"))
            at = bench.rng.choice(
                (4, 10, 16, len(mpdu) - 1, len(mpdu) - 8, bench.rng.randrange(34, len(mpdu)))
            )
            mpdu[at] ^= 1 << bench.rng.randrange(8)
            assert bench.send(bytes(mpdu), number, open_it=True) == BAD_MIC
        assert bench.send(bench.sealed(0, size), 0, open_it=True) == SEALED_OR_OPENED
    await bench.finish()


@cocotb.test()
async def packet_numbers_must_rise_within_a_priority(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    mpdus = [bench.sealed(0, 20) for _ in range(12)]
    for at in (0, 3, 1, 3, 2, 7, 5, 11, 9, 4):
        bench.send(mpdus[at], 0, open_it=True)
    replayed = sum(verdict == REPLAYED for verdict, *_ in bench._wanted)
    assert replayed >= 1
    await bench.finish()
    # A forgery with a high packet number does not change the replay counter.
    forged, following = bytearray(bench.sealed(1, 9, kind="data")), bench.sealed(1, 9, kind="data")
    forged[24 + 7] = 0x7F
    assert bench.send(bytes(forged), 1, open_it=True) == BAD_MIC
    assert bench.send(following, 1, open_it=True) == SEALED_OR_OPENED
    await bench.finish()


@cocotb.test()
async def counters_start_where_the_key_was_installed(dut: Any) -> None:
    bench = await Bench(dut).start()
    old = Key(bench.rng.randbytes(16))
    mpdus = [old.protection.seal([frame(bench.rng, 10)], [pn])[0] for pn in (999, 1000, 1001)]
    await bench.install(1, Key(old.octets, sent=2**40, received=1000))
    assert [bench.send(mpdu, 1, open_it=True) for mpdu in mpdus] == [REPLAYED, REPLAYED, SEALED_OR_OPENED]
    bench.send(frame(bench.rng, 10), 1, open_it=False)
    await bench.finish()


@cocotb.test()
async def a_key_without_packet_numbers_left_seals_nothing(dut: Any) -> None:
    bench = await Bench(dut).start()
    await bench.install(0, Key(bench.rng.randbytes(16), sent=LAST_PN - 2))
    verdicts = [bench.send(frame(bench.rng, 5), 0, open_it=False) for _ in range(4)]
    assert verdicts == [SEALED_OR_OPENED] * 2 + [EXHAUSTED] * 2
    await bench.finish()


@cocotb.test()
async def short_mpdus_are_told_and_the_next_one_is_unharmed(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    for kind in ("qos", "four-qos", "management"):
        whole = bench.sealed(1, 3, kind=kind)
        for length in range(1, len(whole) - 3):
            bench.send(whole[:length], 1, open_it=True)
            if length % 8 == 0:
                assert bench.send(bench.sealed(0, 5), 0, open_it=True) == SEALED_OR_OPENED
        header = mac_header(bench.rng, kind=kind)
        for length in range(1, len(header)):
            assert bench.send(header[:length], 0, open_it=False) == SHORT
    await bench.finish()


@cocotb.test()
async def frames_that_cannot_be_protected_are_refused(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    for _ in range(60):
        mpdu = bench.rng.randbytes(60)
        bench.send(mpdu, bench.rng.randrange(2), open_it=bench.rng.random() < 0.5)
    for mpdu, verdict in (
        (bytes((0x48, 0x41)) + bytes(60), BAD_HEADER),  # Null: no body
        (bytes((0x80, 0x40)) + bytes(60), BAD_HEADER),  # Beacon
        (bytes((0x09, 0x41)) + bytes(60), BAD_HEADER),  # protocol version 1
        (bytes((0x08, 0x01)) + bytes(60), NOT_PROTECTED),
        (bytes((0x08, 0x41)) + bytes(60), BAD_HEADER),  # no Ext IV
    ):
        assert bench.send(mpdu, 0, open_it=True) == verdict
    await bench.finish()


@cocotb.test()
async def keys_are_known_by_number_and_identifier(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    other = Key(bench.reference.keys[0].octets, key_id=3)
    mismatched = other.protection.seal([frame(bench.rng, 12)], [1], 3)[0]
    assert bench.send(mismatched, 0, open_it=True) == KEY_MISMATCH
    assert bench.send(bench.sealed(0, 12), 2, open_it=True) == NO_KEY
    assert bench.send(frame(bench.rng, 12), 3, open_it=False) == NO_KEY
    await bench.finish()
    await bench.remove(0)
    assert bench.send(frame(bench.rng, 12), 0, open_it=False) == NO_KEY
    assert bench.send(frame(bench.rng, 12), 1, open_it=False) == SEALED_OR_OPENED
    await bench.finish()


@cocotb.test()
async def a_packet_that_is_no_key_leaves_none(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    good = Key(bench.rng.randbytes(16)).packet(0)
    for length in (8, 20, 32, 40):
        errors = 0
        bench.k.send(Packet((good + bytes(8))[:length]))
        while not bench.k.idle:
            await RisingEdge(dut.clk)
            errors += int(dut.k_error.value)
        for _ in range(40):
            await RisingEdge(dut.clk)
            errors += int(dut.k_error.value)
        assert errors == 1, f"{length} octets"
        bench.reference.keys.pop(0, None)
        assert bench.send(frame(bench.rng, 12), 0, open_it=False) == NO_KEY
    await bench.finish()
    await bench.install(0, Key(bench.rng.randbytes(16)))
    assert bench.send(frame(bench.rng, 12), 0, open_it=False) == SEALED_OR_OPENED
    await bench.finish()


@cocotb.test()
async def each_frame_is_under_the_key_that_it_found(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    for _ in range(6):
        for _ in range(bench.rng.randrange(5)):
            bench.send(frame(bench.rng), bench.rng.randrange(2), open_it=False)
        while not bench.s.idle:
            await RisingEdge(dut.clk)
        await bench.install(bench.rng.randrange(2), Key(bench.random_key(), bench.rng.randrange(4)))
    await bench.finish()


@cocotb.test()
async def a_stream_that_does_not_end_is_cut(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    header = mac_header(bench.rng, kind="qos")
    longest = header + bench.rng.randbytes(MAX_OCTETS - len(header))
    bench.send(frame(bench.rng, 12), 0, open_it=False)
    assert bench.send(longest + bytes(1), 0, open_it=False) == LONG
    assert bench.send(longest + bytes(3 * MAX_OCTETS), 0, open_it=False) == LONG
    assert bench.send(frame(bench.rng, 12), 1, open_it=False) == SEALED_OR_OPENED
    assert bench.send(longest, 0, open_it=False) == SEALED_OR_OPENED
    await bench.finish()


@cocotb.test()
async def a_reset_in_the_middle_of_a_frame_forgets_it(dut: Any) -> None:
    bench = await bench_with_keys(dut)
    for _ in range(4):
        for _ in range(5):
            bench.send(frame(bench.rng, 120), bench.rng.randrange(2), open_it=False)
        await ClockCycles(dut.clk, bench.rng.randrange(20, 400))
        await bench.reset()
        await bench.install(0, Key(bench.random_key()))
        await bench.install(1, Key(bench.random_key()))
        bench.send(frame(bench.rng, 50), 0, open_it=False)
        bench.send(bench.sealed(1, 50), 1, open_it=True)
        await bench.finish()


@cocotb.test()
async def nothing_is_lost_however_the_streams_stall(dut: Any) -> None:
    bench = await bench_with_keys(dut, 3)
    totals = [0] * VERDICTS
    for round_ in range(4):
        bench.s.busy = bench.rng.choice((0.2, 0.7, 1.0))
        bench.v.busy = bench.rng.choice((0.05, 0.5, 1.0))
        bench.m.busy = bench.rng.choice((0.1, 0.5, 1.0))
        for _ in range(40):
            number = bench.rng.randrange(4)
            open_it = bench.rng.random() < 0.5
            mpdu = bench.sealed(number) if open_it and number < 3 else frame(bench.rng)
            if bench.rng.random() < 0.15:
                changed = bytearray(mpdu)
                changed[bench.rng.randrange(len(changed))] ^= 1 << bench.rng.randrange(8)
                mpdu = bytes(changed)
            if bench.rng.random() < 0.05:
                mpdu = mpdu[: bench.rng.randrange(1, len(mpdu) + 1)]
            totals[bench.send(mpdu, number, open_it=open_it)] += 1
        await bench.finish()
        dut._log.info(f"round {round_}: verdicts {totals}")
    for verdict, total in enumerate(totals):
        dut.count_addr.value = verdict
        await ClockCycles(dut.clk, 4)
        assert int(dut.count.value) == total, f"verdict {verdict}"


@cocotb.test()
async def long_frames_keep_the_cores_busy(dut: Any) -> None:
    """Cycles per frame of 1500 and 2304 octets, sealed and opened, stay within the limit; the log has them."""
    bench = await bench_with_keys(dut, 1)
    frames = int(os.environ.get("FRAMES_TIMED", "12"))
    for size in (1500,):
        for open_it in (False, True):
            for _ in range(frames):
                mpdu = bench.sealed(0, size, kind="qos") if open_it else frame(bench.rng, size, kind="qos")
                bench.send(mpdu, 0, open_it=open_it)
            bench.m.cycles.clear()
            while len(bench.m.cycles) < frames:
                await RisingEdge(dut.clk)
            cycles = list(bench.m.cycles)
            half = frames // 3
            each = (cycles[-1 - half // 2] - cycles[half]) / (len(cycles) - 1 - half // 2 - half)
            dut._log.info(
                f"{'open' if open_it else 'seal'} {size}: {each:.1f} cycles per frame, "
                f"{8 * size / each:.3f} bit per cycle"
            )
            assert each <= MOST_CYCLES
            await bench.finish()
