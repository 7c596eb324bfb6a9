//! The body of an Authentication frame with algorithm 3 (IEEE 802.11-2020 9.3.3.11, Table 9-41).
//!
//! ```text
//!  octet 0 algorithm: 3   2 transaction: 1 Commit, 2 Confirm   4 status   6 ...
//!
//!  Commit           group (2) [token] scalar element              hunting-and-pecking, status 0
//!                   group (2) scalar element elements             hash-to-element, status 126
//!  token required   group (2) token, or an element with the token    status 76
//!  group refused    group (2)                                     status 77
//!  Confirm          send-confirm (2) confirm                      status 0
//! ```
//! Elements after a Commit: Password Identifier, Rejected Groups, Anti-Clogging Token Container. Others are ignored.

use wlan_frames::FrameError;
use wlan_frames::beacon::{elements, push_element};
use wlan_frames::management::SAE;

use super::Method;
use crate::Group;

const HEADER_LEN: usize = 6;
const COMMIT: u16 = 1;
const CONFIRM: u16 = 2;

/// Status codes that SAE uses (9.4.1.9).
pub mod status {
    pub use wlan_frames::management::status::{
        SUCCESS, UNSPECIFIED_FAILURE, UNSUPPORTED_FINITE_CYCLIC_GROUP,
    };
    /// The Confirm is invalid: the peer has another password (12.4.7.6).
    pub const CHALLENGE_FAILURE: u16 = 15;
    /// The Commit requires an anti-clogging token.
    pub const ANTI_CLOGGING_TOKEN_REQUIRED: u16 = 76;
    /// The peer has no password with this identifier.
    pub const UNKNOWN_PASSWORD_IDENTIFIER: u16 = 123;
    /// A Commit by hash-to-element.
    pub const SAE_HASH_TO_ELEMENT: u16 = 126;
}

const ELEMENT_ID_EXTENSION: u8 = 255;
const PASSWORD_IDENTIFIER: u8 = 33;
const REJECTED_GROUPS: u8 = 92;
const TOKEN_CONTAINER: u8 = 93;

/// The contents of an SAE Authentication frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// Commit.
    Commit(Commit<'a>),
    /// A Commit in an unsupported group, whose remaining fields cannot be parsed.
    ForeignCommit {
        /// How the password element was computed.
        method: Method,
        /// Number of the group.
        group: u16,
    },
    /// Confirm.
    Confirm {
        /// Number of Confirms sent, including this one; 65535 once the sender has accepted.
        send_confirm: u16,
        /// The digest.
        confirm: &'a [u8],
    },
    /// Answers a Commit that requires a token.
    TokenRequired {
        /// Number of the Commit's group.
        group: u16,
        /// The token; within an element if the Commit is by hash-to-element: see [`token_of`].
        rest: &'a [u8],
    },
    /// Answers a Commit whose group is unsupported.
    GroupRefused {
        /// Number of the Commit's group.
        group: u16,
    },
    /// Another refusal.
    Refused {
        /// 1 refuses a Commit, 2 a Confirm.
        transaction: u16,
        /// Status code (9.4.1.9); see [`status`].
        status: u16,
    },
}

/// A Commit. Scalar and element are not validated yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit<'a> {
    /// How the password element was computed.
    pub method: Method,
    /// The group.
    pub group: Group,
    /// The anti-clogging token. With hunting-and-pecking, it precedes the scalar and has no length field.
    pub token: Option<&'a [u8]>,
    /// The scalar, [`Group::field_len`] octets.
    pub scalar: &'a [u8],
    /// The element, twice as long as the scalar.
    pub element: &'a [u8],
    /// The identifier of the password.
    pub identifier: Option<&'a [u8]>,
    /// Numbers of previously rejected groups, two octets each, as on the air. May be empty.
    pub rejected: &'a [u8],
}

fn u16_at(octets: &[u8], at: usize, what: &'static str) -> Result<u16, FrameError> {
    match octets.get(at..at + 2) {
        Some(&[low, high]) => Ok(u16::from_le_bytes([low, high])),
        _ => Err(FrameError::Truncated {
            what,
            needed: at + 2,
            have: octets.len(),
        }),
    }
}

impl<'a> Message<'a> {
    /// Reads the body of an Authentication frame, which starts with the algorithm.
    ///
    /// # Errors
    /// [`FrameError::Truncated`]; [`FrameError::Field`] for another algorithm or transaction, and for invalid or
    /// duplicate elements of a Commit.
    pub fn parse(body: &'a [u8]) -> Result<Message<'a>, FrameError> {
        const WHAT: &str = "the body of an SAE Authentication frame";
        let status = u16_at(body, 4, WHAT)?;
        if u16_at(body, 0, WHAT)? != SAE {
            return Err(FrameError::Field("the authentication algorithm is not SAE (3)"));
        }
        let contents = &body[HEADER_LEN..];
        match (u16_at(body, 2, WHAT)?, status) {
            (COMMIT, status::SUCCESS) => parse_commit(Method::HuntingAndPecking, contents),
            (COMMIT, status::SAE_HASH_TO_ELEMENT) => parse_commit(Method::HashToElement, contents),
            (COMMIT, status::ANTI_CLOGGING_TOKEN_REQUIRED) => Ok(Message::TokenRequired {
                group: u16_at(contents, 0, "the group of an SAE answer")?,
                rest: &contents[2..],
            }),
            (COMMIT, status::UNSUPPORTED_FINITE_CYCLIC_GROUP) => Ok(Message::GroupRefused {
                group: u16_at(contents, 0, "the group of an SAE answer")?,
            }),
            (CONFIRM, status::SUCCESS) => Ok(Message::Confirm {
                send_confirm: u16_at(contents, 0, "an SAE Confirm")?,
                confirm: &contents[2..],
            }),
            (transaction @ (COMMIT | CONFIRM), status) => Ok(Message::Refused { transaction, status }),
            _ => Err(FrameError::Field("invalid SAE transaction (expected 1 or 2)")),
        }
    }

    /// Encodes the body.
    ///
    /// # Panics
    /// If an identifier, a list of groups or a token for an element is longer than 254 octets.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let (transaction, status) = match *self {
            Message::Commit(Commit { method, .. }) | Message::ForeignCommit { method, .. } => {
                (COMMIT, method.status())
            }
            Message::Confirm { .. } => (CONFIRM, status::SUCCESS),
            Message::TokenRequired { .. } => (COMMIT, status::ANTI_CLOGGING_TOKEN_REQUIRED),
            Message::GroupRefused { .. } => (COMMIT, status::UNSUPPORTED_FINITE_CYCLIC_GROUP),
            Message::Refused { transaction, status } => (transaction, status),
        };
        let mut body = [SAE, transaction, status].map(u16::to_le_bytes).concat();
        match *self {
            Message::Commit(ref commit) => commit.push(&mut body),
            Message::ForeignCommit { group, .. } | Message::GroupRefused { group } => {
                body.extend_from_slice(&group.to_le_bytes());
            }
            Message::Confirm {
                send_confirm,
                confirm,
            } => {
                body.extend_from_slice(&send_confirm.to_le_bytes());
                body.extend_from_slice(confirm);
            }
            Message::TokenRequired { group, rest } => {
                body.extend_from_slice(&group.to_le_bytes());
                body.extend_from_slice(rest);
            }
            Message::Refused { .. } => {}
        }
        body
    }
}

impl Commit<'_> {
    fn push(&self, body: &mut Vec<u8>) {
        body.extend_from_slice(&self.group.number().to_le_bytes());
        if self.method == Method::HuntingAndPecking {
            body.extend_from_slice(self.token.unwrap_or_default());
        }
        body.extend_from_slice(self.scalar);
        body.extend_from_slice(self.element);
        if self.method == Method::HashToElement {
            if let Some(identifier) = self.identifier {
                push_extension(body, PASSWORD_IDENTIFIER, identifier);
            }
            if !self.rejected.is_empty() {
                push_extension(body, REJECTED_GROUPS, self.rejected);
            }
            if let Some(token) = self.token {
                push_extension(body, TOKEN_CONTAINER, token);
            }
        }
    }
}

fn push_extension(body: &mut Vec<u8>, extension: u8, octets: &[u8]) {
    push_element(body, ELEMENT_ID_EXTENSION, &[&[extension], octets].concat());
}

fn parse_commit(method: Method, contents: &[u8]) -> Result<Message<'_>, FrameError> {
    const WHAT: &str = "an SAE Commit";
    let number = u16_at(contents, 0, WHAT)?;
    let Some(group) = Group::from_number(number) else {
        return Ok(Message::ForeignCommit {
            method,
            group: number,
        });
    };
    let len = group.field_len();
    let spare = contents
        .len()
        .checked_sub(2 + 3 * len)
        .ok_or(FrameError::Truncated {
            what: WHAT,
            needed: 2 + 3 * len,
            have: contents.len(),
        })?;
    // Without elements, all octets beyond the expected length are the token (9.4.1.38).
    let token_len = match method {
        Method::HuntingAndPecking => spare,
        Method::HashToElement => 0,
    };
    let (token, contents) = contents[2..].split_at(token_len);
    let (scalar, contents) = contents.split_at(len);
    let (element, rest) = contents.split_at(2 * len);
    let mut commit = Commit {
        method,
        group,
        token: (!token.is_empty()).then_some(token),
        scalar,
        element,
        identifier: None,
        rejected: &[],
    };
    let mut rejected = None;
    for element in elements(rest) {
        let (id, body) = element?;
        let (ELEMENT_ID_EXTENSION, [extension, octets @ ..]) = (id, body) else {
            continue;
        };
        let place = match *extension {
            PASSWORD_IDENTIFIER => &mut commit.identifier,
            REJECTED_GROUPS => &mut rejected,
            TOKEN_CONTAINER => &mut commit.token,
            _ => continue,
        };
        if octets.is_empty() || place.replace(octets).is_some() {
            return Err(FrameError::Field("empty or duplicate element in the SAE Commit"));
        }
    }
    commit.rejected = rejected.unwrap_or_default();
    if !commit.rejected.len().is_multiple_of(2) {
        return Err(FrameError::Field("the Rejected Groups list has an odd length"));
    }
    Ok(Message::Commit(commit))
}

/// Extracts the token from `rest` of a [`Message::TokenRequired`] that answers a Commit of `method`.
#[must_use]
pub fn token_of(method: Method, rest: &[u8]) -> Option<&[u8]> {
    let token = match method {
        Method::HuntingAndPecking => rest,
        Method::HashToElement => elements(rest).find_map(|element| match element {
            Ok((ELEMENT_ID_EXTENSION, [TOKEN_CONTAINER, token @ ..])) => Some(token),
            _ => None,
        })?,
    };
    // A token must fit into an element with an extension ID. Longer tokens do not occur in practice.
    (1..=254).contains(&token.len()).then_some(token)
}

/// Encodes `rest` of a [`Message::TokenRequired`] with `token`.
pub(crate) fn token_rest(method: Method, token: &[u8]) -> Vec<u8> {
    let mut rest = Vec::with_capacity(3 + token.len());
    match method {
        Method::HuntingAndPecking => rest.extend_from_slice(token),
        Method::HashToElement => push_extension(&mut rest, TOKEN_CONTAINER, token),
    }
    rest
}
