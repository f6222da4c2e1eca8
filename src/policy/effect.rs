//! What a tool does, what its arguments are to it, and who said so.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a call does when it succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads from a fixed place.
    Read,
    /// Reads from a host that an argument chooses.
    Fetch,
    /// Changes state inside the user's own domain. Unknown verbs count as this.
    Write,
    /// Makes data reach other people or an outside party.
    Send,
    /// Moves money or commits to a payment.
    Spend,
    /// Loses something for good.
    Destroy,
    /// Runs what the caller hands over as code.
    Execute,
    /// Changes who can get in or what they may do.
    Account,
}

impl Effect {
    /// All effects, in the order of the enum.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Fetch,
        Self::Write,
        Self::Send,
        Self::Spend,
        Self::Destroy,
        Self::Execute,
        Self::Account,
    ];

    /// Whether the effect leaves the user's trust domain or cannot be undone.
    pub fn is_sink(self) -> bool {
        matches!(self, Self::Send | Self::Spend | Self::Destroy | Self::Execute | Self::Account)
    }

    /// Whether people are asked about each call of this effect, and no answer covers more than one.
    pub fn is_answered_by_call(self) -> bool {
        matches!(self, Self::Spend | Self::Destroy | Self::Execute | Self::Account)
    }

    /// The name used in policies, records and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Fetch => "fetch",
            Self::Write => "write",
            Self::Send => "send",
            Self::Spend => "spend",
            Self::Destroy => "destroy",
            Self::Execute => "execute",
            Self::Account => "account",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an argument is to its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Where data goes or comes from over a boundary: recipient, url, channel of a send, payee.
    Destination,
    /// The one existing thing that is read, changed or removed.
    Target,
    /// A file system path.
    Path,
    /// Code, SQL, shell: what decides what runs.
    Command,
    /// Money or quantity of a transaction.
    Amount,
    /// What travels or is stored.
    Content,
    /// A token, password or key.
    Credential,
    /// A query, filter, limit, format or flag: harmless.
    Selector,
}

/// Who said it. A higher layer overrules a lower one field by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Derived from name, description, annotations and schema.
    Heuristic,
    /// Shipped with Bouncer for a known server.
    Pack,
    /// Written by the user.
    User,
}

/// The place of an argument in a tool's arguments, dotted, `[]` for the items of an array:
/// `message.to[].address`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArgPath(pub String);

impl fmt::Display for ArgPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
