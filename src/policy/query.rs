//! What is asked of the history about a call, and what it answers: the two halves of a trace, as values.

use crate::provenance::{Destination, Flow, Place, Trace};

use super::facts::{Asked, Typed, Via};
use super::handle::{Handle, Siblings};
use super::{ArgPath, Effect, SpentSum};

/// What is asked of the history about a call.
#[derive(Debug, Clone)]
pub struct Query {
    /// The upstream's configured name.
    pub upstream: String,
    /// The effect of the call.
    pub effect: Effect,
    /// What else it does that people are asked about.
    pub besides: Vec<Effect>,
    /// What the tool's name says it acts on: what a bare number in its arguments counts.
    pub object: Option<String>,
    /// Whether it makes a draft, which goes to nobody until another call sends it.
    pub drafts: bool,
    /// The destinations.
    pub destinations: Vec<Destination>,
    /// The arguments that name things at the upstream itself.
    pub targets: Vec<String>,
    /// Other things that the call is about, and that decide nothing: their arguments and texts.
    pub about: Vec<(String, String)>,
    /// The arguments that hold a command or statement.
    pub commands: Vec<ArgPath>,
    /// Amounts of the call: decimal text and currency.
    pub amounts: Vec<(String, Option<String>)>,
    /// Whether the arguments are searched for content of other upstreams.
    pub content: Content,
}

/// Whether the content of the arguments matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Search it.
    Searched,
    /// It stays with the user, or is too short to carry anything.
    Left,
}

/// What is known of one destination.
#[derive(Debug, Clone)]
pub struct TracedDestination {
    /// Which.
    pub destination: Destination,
    /// Whether the user typed it.
    pub typed: Typed,
    /// The latest prompt that names it, from 1.
    pub prompt: Option<usize>,
    /// Whether the user asked for the effect on it.
    pub asked: Asked,
    /// Where it stood.
    pub trace: Trace,
    /// Whether an allowed call created it at this upstream.
    pub created: bool,
    /// What stands behind it, for a target that was read.
    pub handle: Option<Handle>,
    /// Whether it stands in the arguments itself.
    pub via: Via,
    /// The list that a target was read in.
    pub siblings: Option<Siblings>,
    /// Whether somebody may stand behind it who is not known.
    pub hidden: bool,
}

/// The answer to a [`Query`].
#[derive(Debug, Clone)]
pub struct Traced {
    /// One for each destination, in order; behind a thread that something is sent to
    /// stand its people.
    pub destinations: Vec<TracedDestination>,
    /// Whether the user asked for the effect at all.
    pub asked: Asked,
    /// The typed sums that vouch for its amounts: each was typed for whom the call pays, and not paid to them
    /// before. `None` where an amount has none.
    pub sums: Option<Vec<SpentSum>>,
    /// Content that leaves its upstream or its container.
    pub flows: Vec<Flow>,
    /// Whether more content may leave: not all of it was looked at.
    pub content_cut: bool,
    /// Secret-shaped values.
    pub secrets: Vec<SecretSeen>,
    /// What else the call is about.
    pub about: Vec<About>,
    /// Whether more destinations were asked about than are answered for: the rest is unproven.
    pub truncated: bool,
    /// Whether the history is whole.
    pub complete: bool,
}

/// A thing that a call is about, and that decides nothing: the file that somebody is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Dotted path of the argument.
    pub argument: String,
    /// Its value.
    pub text: String,
    /// What stands behind it, where it was read.
    pub handle: Option<Handle>,
}

/// A secret-shaped value in the arguments.
#[derive(Debug, Clone)]
pub struct SecretSeen {
    /// RFC 6901 pointer of the argument.
    pub pointer: String,
    /// What it looks like.
    pub shape: &'static str,
    /// Where another upstream showed it.
    pub from: Option<Place>,
}
