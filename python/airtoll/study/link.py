"""Settings of the link, which are the same in every run of a study, or in every run of some cells.

A missing key keeps the lab's own value, which the run's record contains.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from airtoll.study import quantity
from airtoll.study.claims import Where
from airtoll.study.quantity import is_finite, one_of, show
from airtoll.study.security import KeyManagement, KeyManagements, ManagementFrameProtection, SecurityProfile
from airtoll.study.values import (
    Title,
    did_you_mean,
    integer,
    key,
    name_of,
    number,
    setting,
    switch,
    tables,
)

Preamble = Literal["long", "short"]
Band = Literal["2.4 GHz", "5 GHz"]
Slot = Literal["short", "long"]
Queue = Literal["fifo", "fq_codel"]
ErpProtection = Literal["none", "cts-to-self", "rts-cts"]
AccessCategory = Literal["be", "bk", "vi", "vo"]
RateControl = Literal["fixed", "minstrel"]
ErrorModel = Literal["none", "nist", "yans"]
Fading = Literal["none", "rayleigh", "rician"]
CongestionControl = Literal["reno", "cubic"]
PacingProgram = Literal["even", "iperf3", "iperf2"]
WakeUp = Literal["instant", "exponential", "lognormal"]

_Octets = Annotated[int, *number(quantity.OCTETS, int)]
_Switch = Annotated[bool, *switch()]


Matrix = tuple[tuple[float, ...], ...]


class PathLoss(BaseModel):
    """The parameters of the path loss, by the names of the medium, which has their defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Literal["log-distance", "tgn-a", "tgn-b", "tgn-c", "tgn-d", "tgn-e", "tgn-f"] | None = None
    distance_m: float | Matrix | None = None
    exponent: float | None = None
    tx_power_dbm: float | None = None
    noise_figure_db: float | None = None
    reference_distance_m: float | None = None
    reference_loss_db: float | None = None
    shadowing_db: float | None = None
    fading: Fading | None = None  # this and the next two: by the names of versions before 0.3
    k_factor_db: float | None = None
    coherence_ms: float | None = None


def matrix(value: Any, of: str) -> Matrix:
    """A square matrix of finite numbers. Raises ValueError if the value is another list."""
    rows = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(row, list | tuple) for row in rows) or any(len(row) != len(rows) for row in rows):
        raise ValueError(f"{show(value)} is not a square matrix of {of}: a list of equally long lists")
    for row in rows:
        for entry in row:
            if isinstance(entry, bool) or not isinstance(entry, int | float):
                raise ValueError(f"{show(entry)} in the matrix is not a number")
            if not is_finite(entry):
                raise ValueError(f"{show(entry)} in the matrix is not a finite number")
    return tuple(tuple(row) for row in rows)


def _path_loss(value: Any) -> PathLoss | None:
    if value is None or isinstance(value, PathLoss):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"{show(value)} is not a table of parameters")
    parameters: dict[str, Any] = {}
    for name, parameter in value.items():
        if name not in PathLoss.model_fields:
            raise ValueError(f"{show(name)}: unknown key{did_you_mean(name, PathLoss.model_fields)}")
        if isinstance(parameter, int | float) and not is_finite(parameter):
            raise ValueError(f"{name}: {show(parameter)} is not a finite number")
        is_list = isinstance(parameter, list | tuple)
        parameters[name] = matrix(parameter, "m") if is_list and name == "distance_m" else parameter
    try:
        return PathLoss.model_validate(parameters, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"{first['loc'][0]}: {show(first['input'])}: {first['msg']}") from None


class _Settings(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    def given(self) -> dict[str, Any]:
        """The keys that are set, with their values."""
        return self.model_dump(exclude_none=True)


class TcpSettings(_Settings):
    """TCP/IP settings of the hosts, in real and in virtual time."""

    congestion_control: Annotated[CongestionControl, *name_of(CongestionControl)] | None = setting(
        "Congestion control of TCP: reno or cubic.", "Traffic"
    )
    window: _Octets | None = setting(
        "Window of TCP in bytes: the send and receive buffers that iperf3 sets with -w. Linux doubles them, and "
        "the window that it then advertises depends on the memory of the packets that wait.",
        "Traffic",
        "BYTES",
    )
    receive_buffer: _Octets | None = setting(
        "Receive buffer with which a TCP connection starts, in bytes, without window: the second number of Linux's "
        "tcp_rmem. Linux enlarges it as needed.",
        "Traffic",
        "BYTES",
    )
    delayed_ack: _Switch | None = setting("Whether TCP delays acknowledgements.", "Traffic", None)
    coalesce: _Switch | None = setting(
        "Whether hosts receive packets of one flow coalesced, as with GRO.", "Traffic", None
    )
    timestamps: _Switch | None = setting(
        "Whether TCP uses time stamps (RFC 7323), 12 bytes per segment.", "Traffic", None
    )
    segmentation_offload: _Switch | None = setting(
        "Whether hosts leave segmentation of TCP and UDP to their cards, as with TSO.", "Traffic", None
    )
    ip_fragments: _Switch | None = setting(
        "Whether UDP datagrams may exceed the IP packet size of 1500 bytes, so that IP fragments them.",
        "Traffic",
        None,
    )
    udp_buffer: _Octets | None = setting(
        "Buffers of UDP sockets in bytes: the send buffer of the sender and the receive buffer of the receiver. "
        "Linux doubles them, and counts the memory of datagrams instead of their payload.",
        "Traffic",
        "BYTES",
    )
    pacing: Annotated[PacingProgram, *name_of(PacingProgram)] | None = setting(
        "The program whose spacing of datagrams virtual time imitates: even, iperf3 or iperf2.", "Traffic"
    )
    pacing_timer: Annotated[float, *number(quantity.PERIOD, float)] | None = setting(
        "Time in us between two decisions of iperf3 on how much to send.", "Traffic", "US"
    )
    clock_resolution: Annotated[float, *number(quantity.PERIOD, float)] | None = setting(
        "Time in us between two steps of the clock that iperf2 reads.", "Traffic", "US"
    )
    write_time: Annotated[float, *number(quantity.FRAME_TIME, float)] | None = setting(
        "Time in us that a host's CPU takes to write a datagram, or packet_size bytes of TCP, in virtual time.",
        "Traffic",
        "US",
    )
    packet_time: Annotated[float, *number(quantity.FRAME_TIME, float)] | None = setting(
        "Time in us that a host's CPU takes to pass a packet to its card, in virtual time.", "Traffic", "US"
    )
    wake_up: Annotated[WakeUp, *name_of(WakeUp)] | None = setting(
        "Distribution of the time until a program runs that waited for a timer or a packet, in virtual time: instant, "
        "exponential or lognormal.",
        "Traffic",
    )
    wake_up_mean: Annotated[float, *number(quantity.FRAME_TIME, float)] | None = setting(
        "Mean of that time in us.", "Traffic", "US"
    )
    wake_up_deviation: Annotated[float, *number(quantity.FRAME_TIME, float)] | None = setting(
        "Standard deviation of that time in us, with lognormal.", "Traffic", "US"
    )


class SocketSettings(_Settings):
    """TCP/IP settings of real hosts, which virtual time does not have."""

    sack: _Switch | None = Field(
        default=None, description="Whether TCP uses selective acknowledgements (RFC 2018)."
    )


class MediumSettings(TcpSettings):
    """Settings of the medium and its stations, in real and in virtual time."""

    preamble: Annotated[Preamble, *name_of(Preamble)] | None = setting(
        "PHY preamble of DSSS frames in the 2.4 GHz band: long or short.", "PHY"
    )
    band: Annotated[Band, *name_of(Band)] | None = setting("Frequency band of ht: 2.4 GHz or 5 GHz.", "PHY")
    slot: Annotated[Slot, *name_of(Slot)] | None = setting(
        "Slot in the 2.4 GHz band: short (9 us) or long (20 us).", "PHY"
    )
    dot11b_stations: _Switch | None = setting(
        "Whether an 802.11b station is associated in the 2.4 GHz band: long slot, DSSS basic rates, protection.",
        "PHY",
        None,
    )
    wpa_key_mgmt: KeyManagements | None = setting(
        f"Key management: {one_of(get_args(KeyManagement))}.", "Security"
    )
    ieee80211w: Annotated[ManagementFrameProtection, *name_of(ManagementFrameProtection)] | None = setting(
        "Protection of management frames: disabled, optional or required.", "Security"
    )
    beacon_prot: _Switch | None = setting("Whether beacons are protected as well.", "Security", None)
    access_category: Annotated[AccessCategory, *name_of(AccessCategory)] | None = setting(
        "EDCA access category of the data: be, bk, vi or vo.", "Access"
    )
    txop_limit: Annotated[float, *number(quantity.TXOP_LIMIT, float)] | None = setting(
        "TXOP limit in us; 0 allows one frame exchange per TXOP.", "Access", "US"
    )
    retry_limit: Annotated[int, *integer(1, 255, "IEEE Std 802.11-2020, Annex C")] | None = setting(
        "Transmissions of a frame before it is dropped.", "Access", "N"
    )
    rate_control: Annotated[RateControl, *name_of(RateControl)] | None = setting(
        "Rate control: fixed uses one rate, minstrel falls back to lower rates.", "Access"
    )
    ampdu: _Switch | None = setting("Whether MPDUs are aggregated into A-MPDUs.", "Access", None)
    amsdu: _Octets | None = setting("Maximum A-MSDU size in bytes; 0 disables A-MSDUs.", "Access", "BYTES")
    rts_threshold: _Octets | None = setting(
        "RTS and CTS precede frames with more bytes than this.", "Access", "BYTES"
    )
    fragmentation_threshold: _Octets | None = setting(
        "Frames with more bytes than this are fragmented.", "Access", "BYTES"
    )
    protection: Annotated[ErpProtection, *name_of(ErpProtection)] | None = setting(
        "Protection of frames from older stations: none, cts-to-self or rts-cts; default: none, or cts-to-self "
        "with 802.11b stations.",
        "Access",
    )
    beacon_interval: Annotated[int, *number(quantity.BEACON_INTERVAL, int)] | None = setting(
        "Time between beacons in TU (1024 us); 0 sends no beacons.", "Access", "TU"
    )
    error_model: Annotated[ErrorModel, *name_of(ErrorModel)] | None = setting(
        "Model of frame errors: none, nist or yans; default: nist if an SNR or a path loss is given.",
        "Channel",
    )
    # Any: pydantic warns about the model of a plain validator when it dumps the settings.
    path_loss: Annotated[Any, *key(_path_loss, {"type": "object"})] = setting(
        "Transmit power, distances and their loss, which determine the SNR, as a TOML table.",
        "Channel",
        "TABLE",
    )
    fading: Annotated[Fading, *name_of(Fading)] | None = setting(
        "Fading around the SNR: none, rayleigh or rician.", "Channel"
    )
    k_factor: Annotated[float, *number(quantity.K_FACTOR, float)] | None = setting(
        "Power of the dominant path over that of all other paths with rician, in dB; default: 6 dB.",
        "Channel",
        "DB",
    )
    coherence_time: Annotated[float, *number(quantity.COHERENCE_TIME, float)] | None = setting(
        "Time for which the fading is constant, in us; default: 50 ms.", "Channel", "US"
    )
    queue: Annotated[Queue, *name_of(Queue)] | None = setting(
        "Queue discipline of every sender: fifo or fq_codel.", "Access"
    )
    queue_limit: Annotated[int, *integer(1, 1_000_000)] | None = setting(
        "Capacity of each queue in packets.", "Access", "N"
    )
    wired_rate: Annotated[float, *number(quantity.DATA_RATE, float)] | None = setting(
        "Data rate of the wire behind the access point in Mbit/s.", "Stations", "MBIT/S"
    )
    wired_delay: Annotated[float, *number(quantity.DELAY, float)] | None = setting(
        "One-way delay of that wire in us.", "Stations", "US"
    )
    forward_ipv4: Annotated[float, *number(quantity.FRAME_TIME, float)] | None = setting(
        "Time in us that each card takes to forward a packet of IPv4, with any security, if cards encrypt; "
        "default: 0.",
        "Stations",
        "US",
    )
    forward_ipv6: Annotated[float, *number(quantity.FRAME_TIME, float)] | None = setting(
        "The same time for a packet of IPv6.", "Stations", "US"
    )
    forward_byte: Annotated[float, *number(quantity.OCTET_TIME, float)] | None = setting(
        "Time in ns per byte that each card takes in addition to forward a packet; default: 0.",
        "Stations",
        "NS",
    )
    forward_latency: Annotated[float, *number(quantity.FRAME_TIME, float)] | None = setting(
        "Time in us by which each card delays a packet longer than the packet occupies it; default: 0.",
        "Stations",
        "US",
    )
    processor_frame: Annotated[float, *number(quantity.FRAME_TIME, float)] | None = setting(
        "Time in us that the card's processor takes per frame to seal or open it.",
        "Security",
        "US",
    )
    processor_byte: Annotated[float, *number(quantity.OCTET_TIME, float)] | None = setting(
        "Time in ns that the card's processor takes per byte to seal or open it.",
        "Security",
        "NS",
    )
    processor_latency: Annotated[float, *number(quantity.OCTET_TIME, float)] | None = setting(
        "Time in ns per byte by which sealing or opening a frame takes longer than it occupies the card's "
        "processor, as in a pipeline; default: 0.",
        "Security",
        "NS",
    )
    processor_clock: Annotated[float, *number(quantity.CLOCK, float)] | None = setting(
        "Clock in MHz of the card's processor, whose cycle counts are modelled; default: 400 MHz.",
        "Security",
        "MHZ",
    )
    host_frame: Annotated[float, *number(quantity.FRAME_TIME, float)] | None = setting(
        "Time in us that the host's CPU takes per frame to seal or open it, in virtual time.",
        "Security",
        "US",
    )
    host_byte: Annotated[float, *number(quantity.OCTET_TIME, float)] | None = setting(
        "Time in ns that the host's CPU takes per byte to seal or open it, in virtual time.",
        "Security",
        "NS",
    )
    legacy_fallback: _Switch | None = setting(
        "Whether WEP and TKIP fall back from ht and vht to legacy rates without aggregation, like "
        "hostapd's stations; otherwise they are refused.",
        "Security",
        None,
    )


class Stack(TcpSettings, SocketSettings):
    """Settings that reproduce another system's TCP/IP stack. Missing keys are as in [link]."""

    system: Title = Field(description="The system that the settings reproduce, in words.")


class LinkWhere(MediumSettings, SocketSettings):
    """Settings of the link in some cells. Missing keys are as in [link]."""

    levels: Where = Field(description="The cells: one level of each named factor.")


class LinkSettings(MediumSettings, SocketSettings):
    """Settings of the link, the same in every run except those of the tables `where`."""

    where: Annotated[tuple[LinkWhere, ...], tables("link.where")] = Field(
        default=(), description="Tables with other settings for some cells."
    )

    def given(self) -> dict[str, Any]:
        """The keys that are set in every cell, with their values."""
        return self.model_dump(exclude_none=True, exclude={"where"})

    def at(self, levels: Mapping[str, Any]) -> "LinkSettings":
        """The settings in a cell with these levels. A later table replaces an earlier one."""
        return self.model_copy(
            update={"where": ()}
            | {
                key: value
                for each in self.where
                if each.levels.agrees(levels)
                for key, value in each.given().items()
                if key != "levels"
            }
        )

    def with_stack(self, stack: Stack | None) -> "LinkSettings":
        """The settings, with those of a stack in their place."""
        return (
            self
            if stack is None
            else self.model_copy(update=stack.model_dump(exclude_none=True, exclude={"system"}))
        )

    def with_profile(self, profile: SecurityProfile) -> "LinkSettings":
        """The settings, with those of a security profile in their place."""
        return self.model_copy(update=profile.of_link())
