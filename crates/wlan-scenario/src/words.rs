//! Enumerations whose values have a word in study files. Each word is declared once: the parser, the allowed words of
//! an error and [`word_of`] use this declaration.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use wlan_air::channel::ErrorModel;
use wlan_air::phy::{Band, ErpSlot, GuardInterval, Preamble};
use wlan_air::tcp::{CongestionControl, IpVersion};
use wlan_air::{Category, Protection};
use wlan_ciphers::Suite;

/// A type whose values have words.
pub(crate) trait Words: Copy + PartialEq + 'static {
    /// The words with their values, in the order in which errors list them.
    const WORDS: &'static [(&'static str, Self)];
}

/// The word of a value, or an empty word if study files cannot express the value.
pub(crate) fn word_of<T: Words>(value: T) -> &'static str {
    let found = T::WORDS.iter().find(|(_, other)| *other == value);
    found.map_or("", |(word, _)| word)
}

/// The error for a value that is not one of the allowed words. The reader of the key adds its name.
pub(crate) fn unknown<'a>(value: &str, allowed: impl IntoIterator<Item = &'a str>) -> String {
    let allowed: Vec<&str> = allowed.into_iter().collect();
    format!("'{value}' is not one of {}", allowed.join(", "))
}

fn parse<'de, T: Words, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    value_of(&Cow::<str>::deserialize(deserializer)?)
}

fn value_of<T: Words, E: Error>(given: &str) -> Result<T, E> {
    let found = T::WORDS.iter().find(|(word, _)| *word == given);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| Error::custom(unknown(given, T::WORDS.iter().map(|(word, _)| *word))))
}

/// One or more values, from a word or a list of words.
#[derive(Clone, Debug)]
pub(crate) struct WordList<T>(pub Vec<T>);

impl<'de, T: Words> Deserialize<'de> for WordList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore<T>(PhantomData<T>);

        impl<'de, T: Words> Visitor<'de> for OneOrMore<T> {
            type Value = WordList<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word or a list of words")
            }

            fn visit_str<E: Error>(self, given: &str) -> Result<Self::Value, E> {
                Ok(WordList(vec![value_of(given)?]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut words: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(given) = words.next_element::<String>()? {
                    values.push(value_of(&given)?);
                }
                if values.is_empty() {
                    return Err(Error::custom("the list is empty"));
                }
                Ok(WordList(values))
            }
        }

        deserializer.deserialize_any(OneOrMore(PhantomData))
    }
}

/// A value of another crate's type, deserialised from its word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<T>(pub T);

impl<'de, T: Words> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse(deserializer).map(Word)
    }
}

/// Declares enumerations with their words, or the words of other crates' types.
macro_rules! words {
    ($(impl $type:ty { $($variant:ident = $word:literal),+ $(,)? })+) => {$(
        impl Words for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];
        }
    )+};
    ($($(#[$meta:meta])* enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$doc])* $variant),+ }

        words! { impl $name { $($variant = $word),+ } }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                parse(deserializer)
            }
        }
    )+};
}

words! {
    impl GuardInterval { Long = "long", Short = "short" }
    impl Preamble { Long = "long", Short = "short" }
    impl ErpSlot { Short = "short", Long = "long" }
    impl Band { Ghz2_4 = "2.4 GHz", Ghz5 = "5 GHz" }
    impl IpVersion { V4 = "ipv4", V6 = "ipv6" }
    impl CongestionControl { Reno = "reno", Cubic = "cubic" }
    impl Category { Be = "be", Bk = "bk", Vi = "vi", Vo = "vo" }
    impl Protection { None = "none", CtsToSelf = "cts-to-self", RtsCts = "rts-cts" }
    impl ErrorModel { None = "none", Nist = "nist", Yans = "yans" }
}

words! {
    /// Where frames are sealed and opened.
    enum CryptoAt {
        /// On the host: by its engine, or by `airtoll link` for Enhanced CCMP.
        Host = "host",
        /// On the wireless card.
        Card = "card",
    }

    /// hostapd's `ieee80211w`: whether stations protect management frames.
    enum Ieee80211w {
        Disabled = "disabled",
        Optional = "optional",
        Required = "required",
    }

    /// Which hosts communicate.
    enum Topology {
        /// One station with the access point.
        PointToPoint = "point-to-point",
        /// Stations with a server behind the access point.
        WiredAp = "wired-ap",
        /// Pairs of stations, through the access point.
        ThroughAp = "through-ap",
        /// Stations with the access point.
        Stations = "stations",
    }

    /// The direction of traffic, from the perspective of a station.
    enum Direction {
        Up = "up",
        Down = "down",
        Both = "both",
    }

    enum Transport {
        Tcp = "tcp",
        Udp = "udp",
    }

    /// The traffic that the sources send.
    enum Kind {
        /// As much as the link carries.
        Saturated = "saturated",
        /// A constant bit rate.
        Cbr = "cbr",
        /// A request, its response, the next request.
        RequestResponse = "request-response",
        /// Frames of a video over RTP.
        Video = "video",
    }

    /// The program whose spacing of datagrams a constant bit rate has.
    enum Pacing {
        Even = "even",
        Iperf3 = "iperf3",
        Iperf2 = "iperf2",
    }

    /// The distribution of the time until a program runs that waited.
    enum WakeUps {
        Instant = "instant",
        Exponential = "exponential",
        Lognormal = "lognormal",
    }

    /// The processor of a card, whose cycles per octet are known. `sealing` has the cycles and their sources.
    enum ProcessorKind {
        Model = "model",
        Mips24k = "mips-24k",
        Mips1004k = "mips-1004k",
        CortexA53 = "cortex-a53",
    }

    /// How a station chooses its PHY rate.
    enum RateChoice {
        Fixed = "fixed",
        Minstrel = "minstrel",
    }

    /// Queueing discipline.
    enum Queue {
        Fifo = "fifo",
        FqCodel = "fq_codel",
    }

    /// How the path loss depends on the distance.
    enum PathLossModel {
        LogDistance = "log-distance",
        TgnA = "tgn-a",
        TgnB = "tgn-b",
        TgnC = "tgn-c",
        TgnD = "tgn-d",
        TgnE = "tgn-e",
        TgnF = "tgn-f",
    }

    /// Distribution of the power that fading leaves.
    enum FadingKind {
        None = "none",
        Rayleigh = "rayleigh",
        Rician = "rician",
    }
}

/// A security level: a cipher suite that protects data frames, or `None` for `open`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level(pub Option<Suite>);

impl Level {
    const OPEN: &'static str = "open";

    /// The suites of all security levels.
    pub fn suites() -> impl Iterator<Item = Suite> {
        Suite::ALL.into_iter().filter(|suite| !suite.is_bip())
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Cow::<str>::deserialize(deserializer)?;
        if given == "paper-lanes" {
            return Err(Error::custom(
                "'paper-lanes' is forgeable and only for study (docs/explanation/enhanced-ccmp.md); use enhanced",
            ));
        }
        if given == Level::OPEN {
            return Ok(Level(None));
        }
        let suite = Level::suites().find(|suite| suite.name() == given);
        let allowed = std::iter::once(Level::OPEN).chain(Level::suites().map(Suite::name));
        suite
            .map(|suite| Level(Some(suite)))
            .ok_or_else(|| Error::custom(unknown(&given, allowed)))
    }
}
