//! The audience arguments of a call: `private`, `visibility`, `type: anyone`.
//!
//! A value that keeps the circle small is harmless; one that widens it carries authority like a
//! recipient. What a value means is read in `heuristics::audience`.

use serde_json::Value;

use super::heuristics::widens_audience;
use super::{Audience, ToolPolicy, select};

/// The audience arguments of a call that let more people in.
pub(super) fn widening(policy: &ToolPolicy, arguments: &Value) -> Vec<String> {
    let audience = policy.args.iter().filter(|rule| rule.audience == Audience::Decides);
    let widens = |path: &super::ArgPath| {
        select(arguments, path).iter().any(|found| widens_audience(&path.0, found.value))
    };
    audience.filter(|rule| widens(&rule.path)).map(|rule| rule.path.0.clone()).collect()
}
