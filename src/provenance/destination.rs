//! A destination: one value in the arguments of a call that says where the call goes.
//!
//! Extraction (`extract.rs`) makes these from arguments; nothing else does, so a destination always
//! knows its place in the arguments and its STRICT form. LOOSE forms are the index's own business.

use std::fmt;

use serde::Serialize;

use super::Kind;

/// What an argument is to the call, as the policy says; extraction asks for it leaf by leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The argument carries authority: each leaf and key is a destination whatever its shape.
    /// The kind, where the policy knows it, adds a shape and never removes one.
    Authority(Option<Kind>),
    /// The argument is text that travels: only links and hosts inside it are destinations.
    Content,
    /// Nothing is declared: a leaf or key is a destination when it is shaped like one.
    Undeclared,
    /// The argument is harmless or judged elsewhere (a limit, a format, an amount).
    Ignored,
}

/// Why a value counts as a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It stands in an argument that carries authority.
    Declared,
    /// It stands in an undeclared argument and is shaped like a destination.
    Shaped,
    /// It is a link or host inside text.
    Embedded,
    /// It was left over in an argument that carries authority after all that parsed was taken out.
    Unparsed,
}

/// The STRICT canonical form: two destinations with equal STRICT forms are the same place.
///
/// Decides trust, so it folds only what the protocol folds: never confusables, never plus tags.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Strict(pub(super) String);

impl Strict {
    /// The form as text, for comparison and for the audit log.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Strict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One value that says where a call goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Destination {
    /// Where it stands in the arguments: an RFC 6901 pointer to the leaf, or to the member whose key it is.
    pub pointer: String,
    /// The dotted argument path without indices, as policies write it: `message.to[]`.
    pub argument: String,
    /// Whether the value is an object key rather than a leaf.
    pub is_key: bool,
    /// The value as it stands in the argument, display name and surroundings dropped.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// Why it counts.
    pub reason: Reason,
    /// Its STRICT form; `None` when it has no form that could be trusted.
    pub strict: Option<Strict>,
}
