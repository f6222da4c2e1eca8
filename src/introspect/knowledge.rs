//! What the server is told at start.

use std::sync::Arc;

use serde_json::Value;

use crate::pack::builtin_packs;
use crate::policy::{Guard, Pack, RuleSet};

/// What questions are answered from.
pub struct Knowledge {
    /// The user's policy files, compiled, a later one over an earlier one.
    pub user: Vec<RuleSet>,
    /// The names of those files.
    pub files: Vec<String>,
    /// What no call may change.
    pub guard: Guard,
    /// The folder that relative paths start in, as for servers without a `cwd`.
    pub folder: Option<String>,
    /// Where opening a path would lead once symbolic links are followed.
    pub follow: fn(&str) -> Option<String>,
    /// Counts over the audit log, with its last so many records in brief; or why it cannot be read.
    pub audit: Box<dyn Fn(usize) -> Result<Value, String>>,
}

impl Knowledge {
    /// The packs that ship with Bouncer. One that does not load is a fault of the build.
    pub(super) fn packs() -> Vec<Arc<Pack>> {
        builtin_packs().unwrap_or_default()
    }
}
