//! The two sides of an association.

/// One end of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The access point.
    Ap,
    /// The station.
    Sta,
}
