//! Policy files and packs: YAML with positions, compiled to policy with every error collected, and their cases.

mod check;
mod diagnostic;
mod jsonc;
mod tree;

pub use check::Checker;
pub use diagnostic::{Diagnostic, Position, Severity, nearest, quoted};
pub use jsonc::{MAX_JSON_BYTES, parse_jsonc};
pub use tree::{Entry, MAX_YAML_BYTES, Node, Value, parse_yaml};
