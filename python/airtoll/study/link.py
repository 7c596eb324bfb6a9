"""Settings of the link, which are the same in every run of a study.

A missing key keeps the lab's own value, which the run's record contains.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from airtoll.study import quantity
from airtoll.study.values import Former, Title, integer, name_of, number, switch

Preamble = Literal["long", "short"]
Band = Literal["2.4 GHz", "5 GHz"]
Queue = Literal["fifo", "fq_codel"]
Protection = Literal["none", "cts-to-self", "rts-cts"]
KeyManagement = Literal["wpa-psk", "wpa-psk-sha256", "sae"]
ManagementFrameProtection = Literal["disabled", "optional", "required"]
AccessCategory = Literal["be", "bk", "vi", "vo"]
RateControl = Literal["fixed", "minstrel"]
ErrorModel = Literal["none", "nist", "yans"]
CongestionControl = Literal["reno", "cubic"]

_Octets = Annotated[int, *number(quantity.OCTETS, int)]
_Switch = Annotated[bool, *switch()]


class _Settings(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    FORMER: ClassVar[Former] = {}  # keys of earlier versions

    def given(self) -> dict[str, Any]:
        """The keys that are set, with their values."""
        return self.model_dump(exclude_none=True)


class TcpSettings(_Settings):
    """TCP settings of the hosts, in real and in virtual time."""

    congestion_control: Annotated[CongestionControl, *name_of(CongestionControl)] | None = Field(
        default=None, description="Congestion control of TCP: reno or cubic."
    )
    window: _Octets | None = Field(default=None, description="Receive window of TCP in bytes.")
    delayed_ack: _Switch | None = Field(default=None, description="Whether TCP delays acknowledgements.")
    coalesce: _Switch | None = Field(
        default=None,
        description="Whether hosts receive packets of one flow coalesced, as with GRO.",
    )


class SocketSettings(_Settings):
    """TCP/IP settings of real hosts, which virtual time does not have."""

    segmentation_offload: _Switch | None = Field(
        default=None,
        description="Whether hosts leave segmentation of TCP and UDP to their cards, as with TSO.",
    )
    timestamps: _Switch | None = Field(
        default=None, description="Whether TCP uses time stamps (RFC 7323), 12 bytes per segment."
    )
    sack: _Switch | None = Field(
        default=None, description="Whether TCP uses selective acknowledgements (RFC 2018)."
    )
    udp_buffer: _Octets | None = Field(default=None, description="Buffers of UDP sockets in bytes.")
    ip_fragments: _Switch | None = Field(
        default=None,
        description="Whether UDP datagrams may exceed the IP packet size, so that IP fragments them.",
    )


class MediumSettings(TcpSettings):
    """Settings of the medium and its stations, in real and in virtual time."""

    FORMER: ClassVar[Former] = {"dtim_period": "was removed: it had no effect on any measurement"}

    preamble: Annotated[Preamble, *name_of(Preamble)] | None = Field(
        default=None, description="PHY preamble of dsss: long or short."
    )
    band: Annotated[Band, *name_of(Band)] | None = Field(
        default=None, description="Frequency band of ht: 2.4 GHz or 5 GHz."
    )
    wpa_key_mgmt: Annotated[KeyManagement, *name_of(KeyManagement)] | None = Field(
        default=None, description="Key management: wpa-psk, wpa-psk-sha256 or sae."
    )
    ieee80211w: Annotated[ManagementFrameProtection, *name_of(ManagementFrameProtection)] | None = Field(
        default=None, description="Protection of management frames: disabled, optional or required."
    )
    beacon_prot: _Switch | None = Field(default=None, description="Whether beacons are protected as well.")
    access_category: Annotated[AccessCategory, *name_of(AccessCategory)] | None = Field(
        default=None, description="EDCA access category of the data: be, bk, vi or vo."
    )
    txop_limit: Annotated[float, *number(quantity.TXOP_LIMIT, float)] | None = Field(
        default=None, description="TXOP limit in us; 0 allows one frame exchange per TXOP."
    )
    retry_limit: Annotated[int, *integer(1, 255, "IEEE Std 802.11-2020, Annex C")] | None = Field(
        default=None, description="Transmissions of a frame before it is dropped."
    )
    rate_control: Annotated[RateControl, *name_of(RateControl)] | None = Field(
        default=None, description="Rate control: fixed uses one rate, minstrel falls back to lower rates."
    )
    ampdu: _Switch | None = Field(default=None, description="Whether MPDUs are aggregated into A-MPDUs.")
    amsdu: _Octets | None = Field(
        default=None, description="Maximum A-MSDU size in bytes; 0 disables A-MSDUs."
    )
    rts_threshold: _Octets | None = Field(
        default=None, description="RTS and CTS precede frames with more bytes than this."
    )
    fragmentation_threshold: _Octets | None = Field(
        default=None, description="Frames with more bytes than this are fragmented."
    )
    protection: Annotated[Protection, *name_of(Protection)] | None = Field(
        default=None, description="Protection of frames from older stations: none, cts-to-self or rts-cts."
    )
    beacon_interval: Annotated[int, *number(quantity.BEACON_INTERVAL, int)] | None = Field(
        default=None, description="Time between beacons in TU (1024 us); 0 sends no beacons."
    )
    error_model: Annotated[ErrorModel, *name_of(ErrorModel)] | None = Field(
        default=None,
        description="Model of frame errors: none, nist or yans; default: nist if an SNR or a path loss is given.",
    )
    queue: Annotated[Queue, *name_of(Queue)] | None = Field(
        default=None, description="Queue discipline of every sender: fifo or fq_codel."
    )
    queue_limit: Annotated[int, *integer(1, 1_000_000)] | None = Field(
        default=None, description="Capacity of each queue in packets."
    )
    wired_rate: Annotated[float, *number(quantity.DATA_RATE, float)] | None = Field(
        default=None, description="Data rate of the wire behind the access point in Mbit/s."
    )
    wired_delay: Annotated[float, *number(quantity.DELAY, float)] | None = Field(
        default=None, description="One-way delay of that wire in us."
    )
    processor_frame: Annotated[float, *number(quantity.FRAME_TIME, float)] | None = Field(
        default=None,
        description="Time in us that the card's processor takes per frame; in virtual time also the host's.",
    )
    processor_byte: Annotated[float, *number(quantity.OCTET_TIME, float)] | None = Field(
        default=None,
        description="Time in ns that the card's processor takes per byte; in virtual time also the host's.",
    )
    processor_clock: Annotated[float, *number(quantity.CLOCK, float)] | None = Field(
        default=None,
        description="Clock in MHz of the card's processor, whose cycle counts are modelled; default: 400 MHz.",
    )
    legacy_fallback: _Switch | None = Field(
        default=None,
        description="Whether WEP and TKIP fall back from ht and vht to legacy rates without aggregation, like "
        "hostapd's stations; otherwise they are refused.",
    )


class Stack(TcpSettings, SocketSettings):
    """Settings that reproduce another system's TCP/IP stack. Missing keys are as in [link]."""

    system: Title = Field(description="The system that the settings reproduce, in words.")


class LinkSettings(MediumSettings, SocketSettings):
    """Settings of the link, the same in every run."""

    FORMER: ClassVar[Former] = {
        "offered": "is a factor now: write it in [factors]",
        **MediumSettings.FORMER,
    }

    def with_stack(self, stack: Stack | None) -> "LinkSettings":
        """The settings, with those of a stack in their place."""
        return (
            self
            if stack is None
            else self.model_copy(update=stack.model_dump(exclude_none=True, exclude={"system"}))
        )
