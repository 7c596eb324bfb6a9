//! The MAC header of Data and QoS Data frames, IEEE 802.11-2020 9.3.2.
//!
//! ```text
//!  octet  0              2         4         10        16        22        24          24/30    26/32
//!         frame control  duration  address1  address2  address3  sequence  [address4]  [QoS]    [HT Control]
//!                                                                control   if ToDS     if QoS   if QoS and
//!                                                                          and FromDS           +HTC
//! ```

use crate::bytes::{array, get_addr, get_u16, put};
use crate::error::need;
use crate::frame_control::{SUBTYPE_DATA, SUBTYPE_QOS_DATA};
use crate::mac_header::{ADDR1, ADDR2, ADDR3, AFTER_SEQUENCE, DURATION, SEQUENCE};
use crate::{FrameControl, FrameError, FrameType, MacAddr};

/// Sequence Control, IEEE 802.11-2020 9.2.4.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SequenceControl {
    /// Sequence number of the MSDU, 0 to 4095.
    pub number: u16,
    /// Fragment number, 0 to 15.
    pub fragment: u8,
}

impl SequenceControl {
    /// Number of sequence numbers, which count modulo 4096.
    pub const MODULUS: u16 = 4096;

    /// Returns the field as the 16-bit number of the standard. Panics if a part is out of range.
    #[must_use]
    pub fn bits(self) -> u16 {
        assert!(
            self.number < Self::MODULUS,
            "sequence number {} does not fit 12 bits",
            self.number
        );
        assert!(
            self.fragment < 16,
            "fragment number {} does not fit 4 bits",
            self.fragment
        );
        self.number << 4 | u16::from(self.fragment)
    }

    /// Splits the field. Every 16-bit number is valid.
    #[must_use]
    pub fn from_bits(bits: u16) -> SequenceControl {
        SequenceControl {
            number: bits >> 4,
            fragment: bits.to_le_bytes()[0] & 0xf,
        }
    }
}

/// How the receiver acknowledges a QoS Data frame, IEEE 802.11-2020 9.2.4.5.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckPolicy {
    /// Normal Ack; inside an A-MPDU, an implicit BlockAck request.
    Normal,
    /// No acknowledgement.
    NoAck,
    /// No explicit acknowledgement, PSMP Ack, or HTP Ack.
    NoExplicit,
    /// The frame is recorded and acknowledged when a BlockAckReq requests it.
    BlockAck,
}

/// QoS Control, IEEE 802.11-2020 9.2.4.5, as a 16-bit number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QosControl(pub u16);

impl QosControl {
    /// The bits of the TID.
    pub const TID_MASK: u16 = 0xf;
    const ACK_POLICY_SHIFT: u16 = 5;
    const AMSDU_PRESENT: u16 = 1 << 7;

    /// Returns a field with this TID and acknowledgement policy, without A-MSDU. Panics if the TID is over 15.
    #[must_use]
    pub fn new(tid: u8, ack_policy: AckPolicy) -> QosControl {
        assert!(tid < 16, "TID {tid} does not fit 4 bits");
        let policy: u16 = match ack_policy {
            AckPolicy::Normal => 0,
            AckPolicy::NoAck => 1,
            AckPolicy::NoExplicit => 2,
            AckPolicy::BlockAck => 3,
        };
        QosControl(u16::from(tid) | policy << Self::ACK_POLICY_SHIFT)
    }

    /// This field with A-MSDU Present set to `present`.
    #[must_use]
    pub fn with_amsdu(self, present: bool) -> QosControl {
        QosControl(if present {
            self.0 | Self::AMSDU_PRESENT
        } else {
            self.0 & !Self::AMSDU_PRESENT
        })
    }

    /// Traffic identifier, 0 to 15; 0 to 7 are user priorities (9.2.4.5.2).
    #[must_use]
    pub fn tid(self) -> u8 {
        self.0.to_le_bytes()[0] & 0xf
    }

    /// The acknowledgement policy (9.2.4.5.4).
    #[must_use]
    pub fn ack_policy(self) -> AckPolicy {
        match self.0 >> Self::ACK_POLICY_SHIFT & 0b11 {
            0 => AckPolicy::Normal,
            1 => AckPolicy::NoAck,
            2 => AckPolicy::NoExplicit,
            _ => AckPolicy::BlockAck,
        }
    }

    /// True if the frame body is an A-MSDU (9.2.4.5.9).
    #[must_use]
    pub fn amsdu_present(self) -> bool {
        self.0 & Self::AMSDU_PRESENT != 0
    }
}

/// The MAC header of a Data frame (subtype 0) or, with `qos`, of a QoS Data frame (subtype 8).
///
/// [`DataHeader::emit`] panics if fields contradict each other: `addr4` is present exactly when `to_ds` and `from_ds`
/// are both set; `ht_control` requires `qos`; `order` requires the absence of `qos` (in QoS frames the same bit
/// announces an HT Control field).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DataHeader {
    /// The frame goes to the distribution system (station to access point).
    pub to_ds: bool,
    /// The frame comes from the distribution system (access point to station).
    pub from_ds: bool,
    /// More fragments of this MSDU follow.
    pub more_fragments: bool,
    /// The frame is a retransmission.
    pub retry: bool,
    /// The sender will enter power save mode.
    pub power_mgmt: bool,
    /// The access point has buffered more frames for the station.
    pub more_data: bool,
    /// The frame body is protected by a cipher.
    pub protected: bool,
    /// Strictly ordered service, in frames without QoS.
    pub order: bool,
    /// How long the frame reserves the medium after its end, in microseconds (bits 0 to 14; 9.2.5).
    pub duration_us: u16,
    /// Receiver.
    pub addr1: MacAddr,
    /// Transmitter.
    pub addr2: MacAddr,
    /// BSSID, source or destination, depending on `to_ds` and `from_ds` (9.3.2.1).
    pub addr3: MacAddr,
    /// Source address, in frames between two parts of the distribution system.
    pub addr4: Option<MacAddr>,
    /// Sequence number of the MSDU and fragment number.
    pub sequence: SequenceControl,
    /// TID and acknowledgement policy, in QoS Data frames.
    pub qos: Option<QosControl>,
    /// HT Control, in QoS Data frames with +HTC (9.2.4.6).
    pub ht_control: Option<u32>,
}

impl DataHeader {
    /// Length in octets: 24, 26 (QoS), 30 (four addresses) or 32 (both), and 4 more with HT Control.
    #[allow(clippy::len_without_is_empty)]
    #[must_use]
    pub fn len(&self) -> usize {
        let addr4 = if self.addr4.is_some() { 6 } else { 0 };
        let qos = if self.qos.is_some() { 2 } else { 0 };
        let htc = if self.ht_control.is_some() { 4 } else { 0 };
        AFTER_SEQUENCE + addr4 + qos + htc
    }

    /// The Frame Control field of this header.
    #[must_use]
    pub fn frame_control(&self) -> FrameControl {
        let subtype = if self.qos.is_some() {
            SUBTYPE_QOS_DATA
        } else {
            SUBTYPE_DATA
        };
        FrameControl::new(FrameType::Data, subtype)
            .with(FrameControl::TO_DS, self.to_ds)
            .with(FrameControl::FROM_DS, self.from_ds)
            .with(FrameControl::MORE_FRAGMENTS, self.more_fragments)
            .with(FrameControl::RETRY, self.retry)
            .with(FrameControl::POWER_MGMT, self.power_mgmt)
            .with(FrameControl::MORE_DATA, self.more_data)
            .with(FrameControl::PROTECTED, self.protected)
            .with(FrameControl::HTC_ORDER, self.order || self.ht_control.is_some())
    }

    /// Traffic identifier, 0 to 15; 0 for frames without QoS.
    #[must_use]
    pub fn tid(&self) -> u8 {
        self.qos.map_or(0, QosControl::tid)
    }

    /// Writes the header at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`len`](Self::len) or the fields contradict each other (see [`DataHeader`]).
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        assert_eq!(
            self.addr4.is_some(),
            self.to_ds && self.from_ds,
            "addr4 is present if and only if ToDS and FromDS are set"
        );
        assert!(
            self.ht_control.is_none() || self.qos.is_some(),
            "HT Control requires QoS"
        );
        assert!(
            !self.order || self.qos.is_none(),
            "strict order requires a frame without QoS"
        );
        put(buf, 0, self.frame_control().0.to_le_bytes());
        put(buf, DURATION, self.duration_us.to_le_bytes());
        put(buf, ADDR1, self.addr1.0);
        put(buf, ADDR2, self.addr2.0);
        put(buf, ADDR3, self.addr3.0);
        put(buf, SEQUENCE, self.sequence.bits().to_le_bytes());
        let mut at = AFTER_SEQUENCE;
        if let Some(addr4) = self.addr4 {
            put(buf, at, addr4.0);
            at += 6;
        }
        if let Some(qos) = self.qos {
            put(buf, at, qos.0.to_le_bytes());
            at += 2;
        }
        if let Some(ht_control) = self.ht_control {
            put(buf, at, ht_control.to_le_bytes());
            at += 4;
        }
        at
    }

    /// Reads the header at the start of `bytes` and ignores the rest.
    ///
    /// # Errors
    /// [`FrameError::Version`], [`FrameError::Type`] for frames other than Data, [`FrameError::Subtype`] for subtypes
    /// without an MSDU (Null) and the obsolete contention-free subtypes, [`FrameError::Truncated`].
    pub fn parse(bytes: &[u8]) -> Result<DataHeader, FrameError> {
        let fc = FrameControl::parse(bytes)?;
        let (frame_type, subtype) = (fc.frame_type(), fc.subtype());
        if frame_type == FrameType::Data && !matches!(subtype, SUBTYPE_DATA | SUBTYPE_QOS_DATA) {
            return Err(FrameError::Subtype { frame_type, subtype });
        }
        let frame = DataFrame::parse(bytes)?;
        let qos_at = fc.qos_offset();
        let htc_order = fc.has(FrameControl::HTC_ORDER);
        Ok(DataHeader {
            to_ds: frame.is_to_ds(),
            from_ds: frame.is_from_ds(),
            more_fragments: fc.has(FrameControl::MORE_FRAGMENTS),
            retry: fc.has(FrameControl::RETRY),
            power_mgmt: fc.has(FrameControl::POWER_MGMT),
            more_data: fc.has(FrameControl::MORE_DATA),
            protected: frame.is_protected(),
            order: htc_order && qos_at.is_none(),
            duration_us: get_u16(bytes, DURATION),
            addr1: frame.receiver(),
            addr2: frame.transmitter(),
            addr3: frame.addr(ADDR3),
            addr4: fc.has_addr4().then(|| frame.addr(AFTER_SEQUENCE)),
            sequence: SequenceControl::from_bits(frame.sequence()),
            qos: frame.qos(),
            ht_control: qos_at
                .filter(|_| htc_order)
                .map(|at| u32::from_le_bytes(array(bytes, at + 2))),
        })
    }
}

/// A view of the header of a Data frame with a body.
///
/// ```text
///  ToDS  FromDS   DA   SA
///  0     0        A1   A2
///  0     1        A1   A3
///  1     0        A3   A2
///  1     1        A3   A4
/// ```
#[derive(Debug, Clone, Copy)]
pub struct DataFrame<'a> {
    fc: FrameControl,
    octets: &'a [u8],
}

impl<'a> DataFrame<'a> {
    /// Splits the header off the front of `mpdu`.
    ///
    /// # Errors
    /// [`FrameError::Version`], [`FrameError::Type`] for frames other than Data, [`FrameError::Subtype`] for Data
    /// frames without a body, [`FrameError::Truncated`].
    #[inline]
    pub fn parse(mpdu: &'a [u8]) -> Result<DataFrame<'a>, FrameError> {
        let fc = FrameControl::parse(mpdu)?;
        let frame_type = fc.frame_type();
        let (FrameType::Data, Some(len)) = (frame_type, fc.header_len()) else {
            return Err(FrameError::Type {
                expected: FrameType::Data,
                found: frame_type,
            });
        };
        if !fc.is_data_with_body() {
            return Err(FrameError::Subtype {
                frame_type,
                subtype: fc.subtype(),
            });
        }
        need("the header of a data frame", mpdu, len)?;
        Ok(DataFrame {
            fc,
            octets: &mpdu[..len],
        })
    }

    /// Length of the header in octets.
    #[must_use]
    #[inline]
    pub fn header_len(&self) -> usize {
        self.octets.len()
    }

    /// Whether any bit of `mask`, a constant of [`FrameControl`], is set.
    #[must_use]
    #[inline]
    pub fn has(&self, mask: u16) -> bool {
        self.fc.has(mask)
    }

    /// The Protected bit.
    #[must_use]
    #[inline]
    pub fn is_protected(&self) -> bool {
        self.fc.has(FrameControl::PROTECTED)
    }

    /// Whether the body is a fragment of an MSDU.
    #[must_use]
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.fc.has(FrameControl::MORE_FRAGMENTS) || self.octets[SEQUENCE] & 0xf != 0
    }

    /// The ToDS bit.
    #[must_use]
    #[inline]
    pub fn is_to_ds(&self) -> bool {
        self.fc.has(FrameControl::TO_DS)
    }

    /// The FromDS bit.
    #[must_use]
    #[inline]
    pub fn is_from_ds(&self) -> bool {
        self.fc.has(FrameControl::FROM_DS)
    }

    /// The TID; 0 without QoS.
    #[must_use]
    #[inline]
    pub fn tid(&self) -> u8 {
        self.qos().map_or(0, QosControl::tid)
    }

    /// Whether the body is an A-MSDU.
    #[must_use]
    #[inline]
    pub fn is_amsdu(&self) -> bool {
        self.qos().is_some_and(QosControl::amsdu_present)
    }

    #[inline]
    fn qos(&self) -> Option<QosControl> {
        let at = self.fc.qos_offset()?;
        Some(QosControl(get_u16(self.octets, at)))
    }

    /// Receiver address.
    #[must_use]
    #[inline]
    pub fn receiver(&self) -> MacAddr {
        self.addr(ADDR1)
    }

    /// Transmitter address.
    #[must_use]
    #[inline]
    pub fn transmitter(&self) -> MacAddr {
        self.addr(ADDR2)
    }

    /// Destination address of the MSDU.
    #[must_use]
    #[inline]
    pub fn da(&self) -> MacAddr {
        self.addr(if self.is_to_ds() { ADDR3 } else { ADDR1 })
    }

    /// Source address of the MSDU.
    #[must_use]
    #[inline]
    pub fn sa(&self) -> MacAddr {
        self.addr(match (self.is_to_ds(), self.is_from_ds()) {
            (_, false) => ADDR2,
            (false, true) => ADDR3,
            (true, true) => AFTER_SEQUENCE,
        })
    }

    /// Address 3. Of a frame with neither To DS nor From DS, it is the BSSID.
    #[must_use]
    #[inline]
    pub fn addr3(&self) -> MacAddr {
        self.addr(ADDR3)
    }

    /// Sequence Control: the fragment number in bits 0 to 3, the sequence number in bits 4 to 15.
    #[must_use]
    #[inline]
    pub fn sequence(&self) -> u16 {
        get_u16(self.octets, SEQUENCE)
    }

    #[inline]
    fn addr(&self, at: usize) -> MacAddr {
        get_addr(self.octets, at)
    }
}
