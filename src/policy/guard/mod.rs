//! The guard guards itself: calls that would change what decides about calls, or plant what runs
//! later, are stopped whatever a policy says.
//!
//! `files` knows which files those are, `watch` finds them in the arguments of a call.

mod files;
mod watch;

pub use files::{Ward, moved, ward};
pub use watch::{Protected, guarded_paths, plainly_reads, watch};
