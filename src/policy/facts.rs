//! The facts of one call, as the actors gathered them: what [`super::decide`] decides on.
//!
//! A fact is a value, never a handle: nothing here can be asked for more, and what could not be
//! gathered is said so (`Unavailable`, `complete: false`), because a missing fact must refuse.

use serde::Serialize;

use crate::provenance::{Destination, Place, Trace};

use super::handle::{Handle, Siblings};
use super::{About, ArgPath, Effect, Outcome, Role, SpentSum};

/// Whether the tool is what it was when first seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PinState {
    /// In the catalogue, unchanged since it was pinned.
    Known,
    /// Not in the catalogue.
    Unlisted,
    /// Withheld since it changed: the words of each [`super::Change`].
    Drifted(Vec<&'static str>),
    /// The policy that would rule on it does not load; the text says why, for the operator.
    NoPolicy(String),
}

/// What is left of the tool's budget. The slot of this call is already taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetState {
    /// No limit is set.
    Unlimited,
    /// This call took slot `used` of `max`.
    Taken {
        /// Attempts so far, this one included.
        used: u64,
        /// The limit.
        max: u64,
    },
    /// All `max` slots were taken before.
    Exhausted {
        /// The limit.
        max: u64,
    },
    /// The budget actor did not answer.
    Unavailable,
}

/// Whether the user typed a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Typed {
    /// No.
    No,
    /// It stands in a block that the user pasted, or that the client wrote: trusts nothing.
    Pasted,
    /// As a bare dictionary word, which opens nothing that destroys, spends, executes or changes access.
    BareWord,
    /// As a whole token.
    Yes,
}

/// Whether the user asked for the effect of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// No verb of the effect's class stands in imperative position.
    No,
    /// Through a delegating phrase ("do the tasks in …"): as far as a question, no further.
    Delegated,
    /// Yes.
    Yes,
}

/// How a destination belongs to its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// It stands in the argument.
    Argument,
    /// It stands behind the id in the argument: a person of its record, or where the call went that
    /// made it.
    Behind,
}

/// One destination of the call with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DestinationFacts {
    /// The destination.
    pub destination: Destination,
    /// The role of its argument, where one is known.
    pub role: Option<Role>,
    /// The policy's rule that trusts it: the rule's own text.
    pub allowlisted: Option<String>,
    /// The human's grant that covers it: the grant's id.
    pub granted: Option<String>,
    /// A human refused it in this session, and has not typed it since.
    pub refused: bool,
    /// Whether the user typed it.
    pub typed: Typed,
    /// Whether the user asked for this call's effect on it.
    pub asked: Asked,
    /// Where it stood in what upstreams showed.
    pub trace: Trace,
    /// How many distinct links of the same record and host were used before this one, for a fetch.
    pub links_used: usize,
    /// The id of a thing that an allowed call created at this upstream.
    pub created: bool,
    /// What stands behind it, for a target that was read.
    pub handle: Option<Handle>,
    /// How it belongs to the call.
    pub via: Via,
    /// The list that it was read in, for a target: what one question may be about together.
    #[serde(skip)]
    pub siblings: Option<Siblings>,
    /// Whether somebody may stand behind it who is not known.
    #[serde(skip)]
    pub hidden: bool,
}

/// A constraint that this call does not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConstraintFinding {
    /// The argument.
    pub argument: ArgPath,
    /// Ask or deny.
    pub outcome: Outcome,
    /// The rule in our own words, without any value: `path outside the allowed folders`.
    pub rule: String,
}

/// Content of the arguments that was recorded from another upstream, or is secret-shaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlowFacts {
    /// RFC 6901 pointer of the argument that carries it.
    pub pointer: String,
    /// What it is.
    pub content: FlowContent,
    /// Whether a human allowed this pair before in this session, or policy does.
    pub granted: bool,
}

/// What a flow carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowContent {
    /// A secret-shaped value.
    Secret {
        /// What it looks like (`private key`), never the value.
        shape: &'static str,
        /// Where another upstream showed it.
        from: Option<Place>,
    },
    /// Text recorded from another upstream.
    Text {
        /// The place it was read at.
        from: Place,
        /// Contiguous characters found; `None` where they are no longer kept and only a part is known again.
        chars: Option<usize>,
        /// The container that it leaves, where it stays at its upstream.
        container: Option<String>,
    },
}

/// How much of the arguments was looked at for content that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentSeen {
    /// All of it.
    Whole,
    /// A part: what of the rest leaves is not known.
    Part,
}

/// The amount of a spending call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AmountState {
    /// The call carries no amount.
    None,
    /// Each amount was typed by the user or is covered by a grant.
    Vouched,
    /// An amount was neither typed nor granted.
    Unvouched,
}

/// Whether the sink gate applies to a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// It does.
    On,
    /// The user's policy says `exfiltrating: false`.
    Off,
}

/// Whether an upstream is a place of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Locality {
    /// A pack or policy declares that what it is given stays with the user.
    Local,
    /// Anything else: it is itself a destination.
    #[default]
    Elsewhere,
}

/// Everything that is known of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// The effect of this very call: the tool's, refined by what its arguments hold.
    pub effect: Effect,
    /// Whether the sink gate applies.
    pub gate: Gate,
    /// Whether the upstream keeps what it is given.
    pub locality: Locality,
    /// The pin.
    pub pin: PinState,
    /// The budget.
    pub budget: BudgetState,
    /// Constraints not passed, those of the guard among them.
    pub constraints: Vec<ConstraintFinding>,
    /// The destinations, in the order of the policy's arguments.
    pub destinations: Vec<DestinationFacts>,
    /// Whether more destinations stood in the arguments than are judged: the rest is unproven.
    pub truncated: bool,
    /// Content that leaves.
    pub flows: Vec<FlowFacts>,
    /// How much of the arguments was looked at for it.
    pub content: ContentSeen,
    /// What the call is about besides where it goes.
    #[serde(skip)]
    pub about: Vec<About>,
    /// The amount, for a call that spends.
    pub amount: AmountState,
    /// The typed sums that the call uses up.
    #[serde(skip)]
    pub sums: Vec<SpentSum>,
    /// Whether the user asked for the effect at all, for calls without a destination.
    pub asked: Asked,
    /// A human's grant for exactly these arguments.
    pub call_granted: Option<String>,
    /// A human refused exactly this call in this session.
    pub call_refused: bool,
    /// Whether the history that was searched is whole.
    pub complete: bool,
    /// Cells of the table that the policy changed.
    pub cells: super::Cells,
    /// A shared actor that did not answer: the call is refused, whatever else is known.
    pub unavailable: Option<&'static str>,
}

impl Facts {
    /// The facts of a call that its pin already refuses: nothing else was gathered.
    pub fn of_pin(pin: PinState) -> Self {
        Self {
            effect: Effect::Write,
            gate: Gate::On,
            locality: Locality::Elsewhere,
            pin,
            budget: BudgetState::Unlimited,
            constraints: Vec::new(),
            destinations: Vec::new(),
            truncated: false,
            flows: Vec::new(),
            content: ContentSeen::Whole,
            about: Vec::new(),
            amount: AmountState::None,
            sums: Vec::new(),
            asked: Asked::No,
            call_granted: None,
            call_refused: false,
            complete: true,
            cells: super::Cells::default(),
            unavailable: None,
        }
    }

    /// Whether the user stands behind everything that the call sends: each destination is trusted by
    /// policy, granted, or typed and asked for. What such a call writes is no planting.
    pub fn all_vouched(&self) -> bool {
        !self.destinations.is_empty()
            && self.destinations.iter().all(|facts| {
                facts.allowlisted.is_some()
                    || facts.granted.is_some()
                    || (facts.typed == Typed::Yes && facts.asked == Asked::Yes)
            })
    }
}
