//! The answer of the gate: an outcome, the contract that gave it, and why.
//!
//! A verdict is data. `refusal.rs` words it for the model, `question.rs` for the human, and the
//! audit log stores it whole.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::provenance::Place;

use super::ArgPath;
use super::facts::{DestinationFacts, FlowContent, FlowFacts};
use super::origin::Provenance;

/// Allow, ask or deny. Several join by maximum, so nothing that is added can loosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The call is forwarded.
    Allow,
    /// A person is asked; without one it is a deny.
    Ask,
    /// The call is refused and has no side effect.
    Deny,
}

impl Outcome {
    /// The name used in policies, records and vectors.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// The four contracts, in the order in which they are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Contract {
    /// The tool is in the catalogue and is what it was when first seen.
    Pin,
    /// The tool has calls left.
    Budget,
    /// The arguments stay inside what the policy allows.
    Constraint,
    /// Each destination may receive this call.
    SinkGate,
}

impl Contract {
    /// The name used in refusals, records and vectors.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pin => "pin",
            Self::Budget => "budget",
            Self::Constraint => "constraint",
            Self::SinkGate => "sink_gate",
        }
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a call was not simply allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The tool is not in the catalogue.
    NotListed,
    /// The tool is not what was pinned: the words of each [`super::Change`].
    Drifted(Vec<&'static str>),
    /// The policy does not load.
    NoPolicy(String),
    /// All calls of the tool are used up.
    BudgetExhausted {
        /// The limit.
        max: u64,
    },
    /// An argument does not pass a constraint.
    Constraint {
        /// The argument.
        argument: ArgPath,
        /// The rule, without values.
        rule: String,
    },
    /// What a destination came to.
    Destination {
        /// What was known of it.
        facts: Box<DestinationFacts>,
        /// What that makes it.
        provenance: Provenance,
        /// The place that decided, where there is one.
        place: Option<Box<Place>>,
    },
    /// A sink call without any destination that could be judged.
    NoDestination,
    /// More destinations than are judged one by one.
    TooManyDestinations,
    /// The amount was not typed or granted; `known`: there is one at all.
    Amount {
        /// Whether the call carries an amount.
        known: bool,
    },
    /// Content that leaves one upstream for another.
    Flow(Box<FlowFacts>),
    /// More content than is looked at.
    TooMuchContent,
    /// A human said no to this before.
    RefusedBefore,
    /// A shared actor did not answer.
    Unavailable(&'static str),
}

/// One reason with the outcome that it calls for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it calls for.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
}

impl Finding {
    /// A finding that refuses.
    pub fn deny(reason: Reason) -> Self {
        Self { outcome: Outcome::Deny, reason }
    }
}

/// The verdict on one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What happens.
    pub outcome: Outcome,
    /// The contract that decided.
    pub contract: Contract,
    /// All findings, the worst first, those of equal weight in the order of the arguments.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// A verdict whose findings are sorted by weight.
    pub fn new(outcome: Outcome, contract: Contract, mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.outcome));
        Self { outcome, contract, findings }
    }

    /// The findings that are not satisfied.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.outcome != Outcome::Allow)
    }

    /// The reason as the audit log and `check` give it, with values: for people, never for the model.
    pub fn reason(&self) -> Cow<'static, str> {
        self.open().next().map_or(Cow::Borrowed("allowed"), |finding| finding.reason.to_string().into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed => f.write_str("tool is not in the catalogue"),
            Self::Drifted(changes) => write!(f, "tool is not what was pinned: {}", changes.join(", ")),
            Self::NoPolicy(why) => write!(f, "policy does not load: {why}"),
            Self::BudgetExhausted { max } => write!(f, "budget of {max} calls is used up"),
            Self::Constraint { argument, rule } => write!(f, "argument {argument}: {rule}"),
            Self::Destination { facts, provenance, place } => {
                let destination = &facts.destination;
                write!(f, "destination {}='{}' ", destination.argument, destination.text)?;
                match (provenance, place) {
                    (Provenance::FreeText | Provenance::AlteredLink, Some(_)) => {
                        f.write_str("came from untrusted data")?;
                    }
                    (Provenance::Unproven, _) => f.write_str("is not proven to come from the user")?,
                    (provenance, _) => write!(f, "is {}", provenance.as_str())?,
                }
                if let Some(place) = place {
                    let tool = place.tool.as_deref().unwrap_or("listing");
                    write!(f, " ({}.{tool}, call {}, {})", place.upstream, place.call, place.path)?;
                }
                Ok(())
            }
            Self::NoDestination => f.write_str("the call names no destination that could be judged"),
            Self::TooManyDestinations => {
                f.write_str("the call names more destinations than are judged one by one")
            }
            Self::Amount { known: true } => f.write_str("the amount was not typed by the user"),
            Self::Amount { known: false } => f.write_str("the call carries no amount that could be judged"),
            Self::Flow(flow) => match &flow.content {
                FlowContent::Secret { shape, .. } => write!(f, "argument {} carries a {shape}", flow.pointer),
                FlowContent::Text { from, chars: Some(chars), .. } => write!(
                    f,
                    "argument {} carries {chars} characters read from {} (call {})",
                    flow.pointer, from.upstream, from.call
                ),
                FlowContent::Text { from, chars: None, .. } => write!(
                    f,
                    "argument {} may carry what was read from {} (call {}) and is no longer kept",
                    flow.pointer, from.upstream, from.call
                ),
            },
            Self::TooMuchContent => f.write_str("the arguments hold more content than could be looked at"),
            Self::RefusedBefore => f.write_str("a human refused this before in this session"),
            Self::Unavailable(actor) => write!(f, "the {actor} actor does not answer"),
        }
    }
}
