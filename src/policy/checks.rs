//! The constraint contract of one call as a whole: the tool's constraints, what holds without any
//! policy, and the guard, over the same arguments and surroundings.

use std::collections::BTreeSet;

use serde_json::Value;

use super::constraint::{ConstraintFailure, Environment, Lifted, evaluate, paths_to_resolve};
use super::guard::{Protected, guarded_paths, plainly_reads, watch};
use super::{ConstraintFinding, Effect, Outcome, ToolPolicy};

/// Where a call happens, as far as paths are concerned.
#[derive(Clone, Copy)]
pub struct Surroundings<'s> {
    /// The upstream's working folder, where it is on this machine and known.
    pub cwd: Option<&'s str>,
    /// The user's home folder.
    pub home: Option<&'s str>,
    /// Bouncer's state folder and the files it loaded.
    pub own: &'s [String],
}

impl ToolPolicy {
    /// The local paths whose symbolic links the checks want followed. Resolving one is the caller's
    /// work; one that cannot be resolved is left out and judged by words.
    /// `effects` are all that the call may have: the guard looks at none that plainly reads.
    pub fn paths_to_resolve(
        &self,
        effects: &[Effect],
        arguments: &Value,
        surroundings: Surroundings<'_>,
    ) -> BTreeSet<String> {
        let mut paths = paths_to_resolve(&self.constraints, arguments, surroundings.cwd);
        if plainly_reads(effects) {
            return paths;
        }
        let role = |argument: &str| self.role_of(argument);
        paths.extend(guarded_paths(arguments, &role, surroundings.home, surroundings.cwd));
        paths
    }

    /// What this call does not pass. `effects` are all it may have, as refined by its arguments;
    /// `resolved` says where a path of [`Self::paths_to_resolve`] leads.
    pub fn failures(
        &self,
        effects: &[Effect],
        arguments: &Value,
        surroundings: Surroundings<'_>,
        resolved: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<ConstraintFailure> {
        let role = |argument: &str| self.role_of(argument);
        let listed = |argument: &str, reading: &_| self.lists_host(argument, reading);
        let Surroundings { cwd, home, own } = surroundings;
        let mut failures = evaluate(
            &self.constraints,
            arguments,
            Environment { cwd, resolved, role: &role, listed: &listed },
        );
        failures.extend(watch(effects, arguments, &role, Protected { own, home, cwd, resolved }));
        failures
    }
}

/// The findings of the failures: those that typing lifts are gone where the user typed the value at
/// their pointer.
pub fn findings(failures: Vec<ConstraintFailure>, typed: &dyn Fn(&str) -> bool) -> Vec<ConstraintFinding> {
    failures
        .into_iter()
        .filter(|f| f.outcome > Outcome::Allow && !(f.lifted == Lifted::ByTyping && typed(&f.pointer)))
        .map(|f| ConstraintFinding { argument: f.argument, outcome: f.outcome, rule: f.rule })
        .collect()
}
