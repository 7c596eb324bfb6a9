//! The two sides of an association.

/// Which end of the association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The access point.
    Ap,
    /// The station.
    Sta,
}
