"""The simulations: modules, their parameters and simulators."""

from dataclasses import dataclass, field
from pathlib import Path

from runner import TB, Simulator, simulate, sources

# S-boxes as tables: with many S-boxes, a simulation is built in a fraction of the time. A proof shows that the S-box of
# the library equals the table, and at least one simulation per kind of core uses the library's.
TABLES = tuple(sorted((TB / "aes_sbox" / "table").glob("*.v")))
UNDEFINED = (TB / "ram_sdp" / "undefined" / "ram_sdp.v",)


@dataclass(frozen=True)
class Simulation:
    """Cocotb tests on a module with these parameters, which the tests read from the environment."""

    top: str
    modules: str = ""
    parameters: dict[str, int] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    simulator: Simulator = "icarus"
    in_place: tuple[Path, ...] = ()  # replace the library's modules of the same name
    long: bool = False  # repeats other simulations with other widths
    tests: tuple[str, ...] = ()  # of the modules, for `make test`; by default all

    @property
    def name(self) -> str:
        """The name for people and for pytest."""
        return "-".join((self.top, *(f"{key}={value}" for key, value in self.parameters.items())))

    def run(self, *, coverage: bool = False, all_tests: bool = True) -> Path:
        """Run all tests, or the ones of `tests`, and return the folder of the run; AssertionError if a test failed."""
        chosen = (
            {} if all_tests or not self.tests else {"COCOTB_TEST_FILTER": rf"\.({'|'.join(self.tests)})$"}
        )
        files = {file.name: file for file in (*sources(), *self.in_place)}
        return simulate(
            self.top,
            self.modules or f"test_{self.top}",
            self.parameters,
            environment={key: str(value) for key, value in self.parameters.items()}
            | self.environment
            | chosen,
            files=list(files.values()),
            coverage=coverage,
            simulator="verilator" if coverage else self.simulator,
        )


CORE_TESTS = "test_ccmp_core,test_ccmp_core_standard"

# For cores whose streams, keys and framing are modules of another core, on which all tests run.
# A filter of cocotb also selects tests that would be skipped.
CIPHER_TESTS = (
    "every_kind_and_size_is_sealed",
    "every_kind_and_size_is_opened",
    "what_was_changed_on_the_way_does_not_leave",
    "long_frames_keep_the_cores_busy",
    "a_reset_in_the_middle_of_a_frame_forgets_it",
)
CCMP_TESTS = (*CIPHER_TESTS, "printed_mpdus_are_sealed_and_opened")
WIDE_TESTS = (*CCMP_TESTS, "nothing_is_lost_however_the_streams_stall")

CORES = (
    # The pipeline takes longest to build.
    Simulation(
        "ccmp_core",
        CORE_TESTS,
        {"W": 128, "PIPELINE": 1, "FRAMES": 40, "SLOT_W": 6},
        {"LONG_KEYS": "0"},
        "verilator",
        tests=WIDE_TESTS,
    ),
    Simulation("ccmp_core", CORE_TESTS, {"W": 32}, simulator="verilator"),
    *(
        Simulation(
            "ccmp_core",
            CORE_TESTS,
            parameters,
            simulator="verilator",
            in_place=TABLES,
            long=long,
            tests=WIDE_TESTS,
        )
        for parameters, long in (
            ({"W": 64, "CORES": 2, "FRAMES": 9}, False),
            ({"W": 128, "CORES": 4, "FRAMES": 18}, True),
        )
    ),
    # The smallest possible memory, with only the guaranteed behaviour, and S-boxes in block RAM.
    Simulation(
        "ccmp_core",
        CORE_TESTS,
        {
            "W": 32,
            "FRAMES": 4,
            "SBOX_RAM": 1,
            "KEY_W": 2,
            "SLOT_W": 2,
            "BLOCK_W": 7,
            "TAG_W": 1,
            "COUNT_W": 16,
            "MAX_OCTETS": 1888,
        },
        simulator="verilator",
        in_place=UNDEFINED,
    ),
)

# Lanes, with their cipher suite and the maximum cycles of a frame of 1500 octets.
LANES = tuple(
    Simulation(
        "ccmp_core",
        CORE_TESTS,
        parameters,
        {"LONG_KEYS": "0", "SUITE": suite, "MOST_CYCLES": str(cycles)},
        "verilator",
        in_place,
        long=parameters["LANES"] > 2,
        tests=tests,
    )
    for parameters, suite, cycles, in_place, tests in (
        ({"W": 128, "LANES": 8}, "enhanced8", 154, TABLES, ()),
        ({"W": 64, "LANES": 4}, "enhanced4", 286, TABLES, ()),
        ({"W": 32, "LANES": 2, "REPAIRED": 1}, "enhanced2", 539, TABLES, ()),
        ({"W": 32, "LANES": 2, "REPAIRED": 0}, "paper2", 550, TABLES, CIPHER_TESTS),
        ({"W": 32, "LANES": 1}, "ccmp", 1067, (), CCMP_TESTS),
        ({"W": 32, "LANES": 0}, "ccmp", 2114, (), CCMP_TESTS),
    )
)

PARTS = (
    # The simulations of ccmp_core include the pipeline of ten rounds.
    Simulation("aes_pipe", parameters={"ROUNDS": 14}, simulator="verilator", in_place=TABLES),
    Simulation("aes_cslow", parameters={"W": 32}, simulator="verilator"),
    Simulation("aes_cslow", parameters={"W": 32, "SBOX_RAM": 1}, simulator="verilator"),
    Simulation("aes_cslow", parameters={"W": 128}, simulator="verilator", in_place=TABLES),
    # With one round per cycle, Icarus simulates longer than Verilator takes to build.
    *(Simulation("aes_iter", parameters={"LANES": lanes}, simulator="verilator") for lanes in (1, 4)),
    *(
        Simulation(top, parameters={"LANES": lanes}, simulator="verilator", in_place=TABLES)
        for top in ("cbc_lanes", "ctr_lanes")
        for lanes in (1, 2)
    ),
    Simulation("aes_key_expand"),
    Simulation("aes_sbox"),
    Simulation("aes_sbox_slow"),
    Simulation("aes_sbox_ram"),
    Simulation("aes_mix_columns"),
    Simulation("aes_shift_rows"),
    *(Simulation("octet_packer", parameters={"W": w}) for w in (32, 128)),
    Simulation("octet_packer", parameters={"W": 64}, long=True),
    Simulation("rings", "test_ring"),
    Simulation("ram_sdp", parameters={"WIDTH": 32, "DEPTH": 16}),
    Simulation("ram_sdp", parameters={"WIDTH": 7, "DEPTH": 1000}),
    Simulation("block_slice", parameters={"DEPTH": 16, "READ_CYCLES": 2}),
    Simulation("block_slice", parameters={"DEPTH": 1000, "READ_CYCLES": 3}),
    Simulation("verdict_counts"),
    *(
        Simulation(top, parameters={"W": w}, long=w == 64)
        for top in ("key_table", "mpdu_in", "mpdu_out")
        for w in (32, 64, 128)
    ),
)

SIMULATIONS = CORES + LANES + PARTS
