"""The facts of a window: differences of counters and threads, and the state of TCP."""

from airtoll import proc_stat
from airtoll.host import ThreadTimes
from airtoll.probes.limits import connection_in, facts
from airtoll.probes.machines import MachineTimes
from airtoll.probes.watch import Totals, Watched

BEFORE = Totals(
    1_000_000_000,
    {
        "air_idle_s": 1.0,
        "behind_s": 0.0,
        "emulator_run_s": 1.0,
        "emulator_wait_s": 0.5,
        "ap": {"data_air_s": 0.0, "starved_air_s": 0.0},
        "sta1": {"data_air_s": 1.0, "starved_air_s": 1.0},
        "sta2": {"data_air_s": 0.0, "starved_air_s": 0.0},
    },
    threads={"sender": {"0/7": ThreadTimes(1.0, 0.0), "1/8": ThreadTimes(0.0, 0.0)}, "receiver": {}},
    machines={"machine": MachineTimes(steal_s=5.0, softirq_s=1.0, all_s=100.0)},
)
AFTER = Totals(
    3_000_000_000,
    {
        "air_idle_s": 1.25,
        "behind_s": 0.002,
        "emulator_run_s": 2.0,
        "emulator_wait_s": 0.75,
        "ap": {"data_air_s": 0.5, "starved_air_s": 0.5},
        "sta1": {"data_air_s": 2.0, "starved_air_s": 1.5},
        "sta2": {"data_air_s": 1.0, "starved_air_s": 0.0},
    },
    threads={
        "sender": {"0/7": ThreadTimes(1.5, 0.25), "1/8": ThreadTimes(1.5, 0.0), "1/9": ThreadTimes(9.0, 9.0)},
        "receiver": {},
    },
    machines={"machine": MachineTimes(steal_s=5.5, softirq_s=1.25, all_s=104.0)},
)


def test_the_facts_are_those_of_the_window_and_of_the_busiest_thread() -> None:
    assert facts(Watched(BEFORE, AFTER), ["up"], saturated=True, tcp=None) == {
        "saturated": True,
        "window_s": 2.0,
        "air_idle_s": 0.25,
        "starved": 0.25,
        "behind_s": 0.002,
        "emulator": {"run_s": 1.0, "wait_s": 0.25},
        "sender": {"run_s": 1.5, "wait_s": 0.0},
        "receiver": None,
        "tcp": None,
        "machines": {"machine": {"steal_s": 0.5, "softirq_s": 0.25, "all_s": 4.0}},
    }


def test_the_air_is_short_of_data_only_if_no_direction_has_data() -> None:
    watched = Watched(BEFORE, AFTER)
    assert facts(watched, ["down"], saturated=True, tcp=None)["starved"] == 1.0
    assert facts(watched, ["up", "down"], saturated=True, tcp=None)["starved"] == 0.25


def test_a_link_that_counts_nothing_has_no_facts() -> None:
    found = facts(Watched(Totals(0, {}), Totals(10**9, {})), ["up"], saturated=True, tcp=None)
    unknown = ("air_idle_s", "starved", "behind_s", "emulator", "tcp")
    assert {name: found[name] for name in unknown} == dict.fromkeys(unknown)


def test_the_state_of_the_data_connection_is_read() -> None:
    said = (
        "0 0 10.0.0.2:40000 10.0.0.1:5201\n\t cubic wscale:7,7 rto:204 mss:1448 busy:4ms delivered:9\n"
        "0 99 10.0.0.2:40001 10.0.0.1:5201\n\t cubic mss:1448 busy:2496ms rwnd_limited:64ms(2.6%) "
        "sndbuf_limited:1920ms(76.9%) unacked:9 notsent:284832 minrtt:0.1\n"
    )
    assert connection_in(said, 2.5) == {
        "age_s": 2.5,
        "busy_s": 2.496,
        "rwnd_limited_s": 0.064,
        "sndbuf_limited_s": 1.92,
        "notsent_bytes": 284832,
    }
    assert connection_in("", 2.5) is None


def test_times_of_a_machine_are_read_from_its_kernel_and_from_nothing_else() -> None:
    stat = "cpu  100 20 30 400 50 0 7 93 11 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n"
    of_all, of_core = proc_stat.times_s(stat).values()
    assert (of_all["steal"], of_all["softirq"], sum(of_all.values())) == (0.93, 0.07, 7.0)
    assert sum(of_core.values()) == 0.08
    for odd in (
        "",
        "cpu 1 2 3",
        "cpu -1 2 3 4 5 6 7 8",
        "cpu 1 2 3 4 5 6 7 x",
        "cpu" + " 9" * 8 + "9" * 5000,
    ):
        assert proc_stat.times_s(odd) == {}
