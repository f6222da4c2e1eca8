//! The kinds of destination, each with canonical forms of its own.

use serde::{Deserialize, Serialize};

/// What a destination is, as far as its text or its declared role tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A mail address (RFC 5322 addr-spec, without display name).
    Email,
    /// An absolute url (WHATWG URL Standard).
    Url,
    /// A host name or IP address that stands alone.
    Host,
    /// A telephone number.
    Phone,
    /// An IBAN (ISO 13616) or another bank account number.
    Account,
    /// A channel or a handle, with or without its `#` or `@`.
    Channel,
    /// A file system path.
    Path,
    /// `owner/repo` of a code host.
    Repo,
    /// An opaque identifier: a UUID, a number, a key such as `PROJ-12`.
    Id,
    /// A name of several words, or of one.
    Name,
    /// Text that fits none of the others. In a sink argument it is an unproven destination.
    Text,
}

impl Kind {
    /// Whether a value of this kind means the same thing at every upstream, so that a grant for it
    /// holds across upstreams (`docs/architecture.md`, grants). A host is not: only exact urls are.
    pub fn is_global(self) -> bool {
        matches!(self, Self::Email | Self::Phone | Self::Account | Self::Url)
    }
}
