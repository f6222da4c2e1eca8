//! The answer of the gate: an outcome, the contract that gave it, and why.

use std::fmt;

use serde::Serialize;

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
