//! `airtoll link`: hosts joined by an open network, and the hot path of that step by step ([`link`]).

pub mod link;
