//! The third contract: arguments stay inside what the policy allows.
//!
//! `model` is what a policy says, `evaluate` checks one call against it, `path`, `value`, `host` and
//! `url` know one kind of test each, `network` is the part that holds without any policy. All of it
//! is pure: symbolic links are resolved by the caller and handed in.

mod evaluate;
mod host;
mod model;
mod network;
mod never;
mod path;
mod url;
mod value;

pub use evaluate::{Environment, evaluate, paths_to_resolve};
pub use host::HostPattern;
pub use model::{Constraint, ConstraintFailure, Lifted, PathLimit, Presence, Test};
pub use never::never_matches;
pub use path::{Bound, PathFault};
pub use url::{UrlFault, UrlReading, read_url};
pub use value::{AllowedValue, Pattern, PatternFault, Range};
