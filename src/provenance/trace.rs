//! The answer to "where did this destination come from?": every place it stood in, and whether the
//! history behind the answer is whole.

use serde::Serialize;

/// What kind of place a value stood in. Ordered from the most to the least permissive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// A field that a pack or policy declares to be the user's own directory.
    OwnData,
    /// A whole scalar url under a url-like key.
    LinkField,
    /// A whole scalar under an identity key (sender, owner, participants …).
    IdentityField,
    /// An own-data field whose value stood in untrusted text before, or that a call of this client
    /// put there.
    Planted,
    /// Free text of a record that the user pointed at.
    PointedText,
    /// Any other text.
    FreeText,
}

/// One step by which the value was found where it does not stand in plain sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is the name of the encoding it undoes")]
pub enum Decoding {
    Fold,
    Escapes,
    Entities,
    Percent,
    QuotedPrintable,
    Base64,
    Base32,
    Hex,
    CharCodes,
    Markup,
    TagCharacters,
    Spelled,
    Rot13,
    Reversed,
    Structure,
}

impl Decoding {
    /// All of them; the position of each is its code in stored passages.
    pub(crate) const ALL: [Self; 15] = [
        Self::Fold,
        Self::Escapes,
        Self::Entities,
        Self::Percent,
        Self::QuotedPrintable,
        Self::Base64,
        Self::Base32,
        Self::Hex,
        Self::CharCodes,
        Self::Markup,
        Self::TagCharacters,
        Self::Spelled,
        Self::Rot13,
        Self::Reversed,
        Self::Structure,
    ];
}

/// The worst verdict that a match may lead to. Weak matches (a parent host, pieces from two places)
/// ask at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Floor {
    /// The value as a whole was traced.
    Deny,
    /// Only a part of it was, or something near it.
    Ask,
}

/// One place where a value stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// What kind of place.
    pub kind: PlaceKind,
    /// How much of the value was found there.
    pub floor: Floor,
    /// The configured name of the upstream that showed it.
    pub upstream: String,
    /// The tool whose result it was; `None` for listings, instructions and notifications.
    pub tool: Option<String>,
    /// The session's number of that call; 0 where there was none.
    pub call: u64,
    /// JSON path of the leaf in the message (RFC 9535 normalised path); ` » ` and the path within it where the
    /// leaf is itself a structure.
    pub path: String,
    /// Byte range within the leaf's decoded text.
    pub range: (usize, usize),
    /// How it was found, outermost first; empty when it stands there in plain sight.
    pub chain: Vec<Decoding>,
    /// At most 200 characters around it, unescaped: escape before showing.
    pub excerpt: String,
    /// Whether the value stands there exactly, by its STRICT form.
    pub exact: bool,
    /// Whether the value is the whole scalar of a structure there (a record's `id`, a `path`), not a
    /// mention inside longer text. What is neither an identity nor a link field is still free text.
    pub whole: bool,
}

impl Place {
    /// A place in free text that cannot be read any more.
    pub(crate) fn unread(floor: Floor) -> Self {
        Self {
            kind: PlaceKind::FreeText,
            floor,
            upstream: String::new(),
            tool: None,
            call: 0,
            path: String::new(),
            range: (0, 0),
            chain: Vec::new(),
            excerpt: String::new(),
            exact: false,
            whole: false,
        }
    }
}

/// How far a url is from the one it was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AlterationSize {
    /// A prefix of its path, at most three more path words of at most 16 letters, a small number, a
    /// fragment: too little to carry anything.
    Small,
    /// More than that.
    Large,
}

/// A url that was not read as it stands, but is made from one that was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alteration {
    /// Where the url that it was made from was read.
    pub of: Place,
    /// How far it is from it.
    pub size: AlterationSize,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Trace {
    /// The places, oldest first within a kind, at most a few of each kind. Empty: not traced.
    pub places: Vec<Place>,
    /// For a url that was read at the same host in another form: the nearest one read.
    pub altered: Option<Alteration>,
    /// Whether the history that was searched is whole. `false`: entries were given up.
    pub complete: bool,
}
