//! Policy files and packs: YAML with positions, compiled to policy with every error collected, and their cases.

mod builtin;
mod cases;
mod check;
mod compile;
mod diagnostic;
mod entry;
mod jsonc;
mod load;
pub mod raw;
mod run;
mod schema;
mod tree;
mod trust;

pub use builtin::{SHIPPED, Shipped, builtin_packs};
pub use cases::{Case, CaseCall, CaseOutput, CasePacks, CasePolicy, read_cases};
pub use check::Checker;
pub use compile::{compile_pack, compile_policy, compile_policy_node};
pub use diagnostic::{Diagnostic, Position, Severity, nearest, quoted};
pub use jsonc::{MAX_JSON_BYTES, parse_jsonc};
pub use load::{PolicySource, load_policy, read_policy, refuse_all};
pub use run::{CaseResult, Passed, run_case};
pub use schema::{file_schema, in_words, policy_schema};
pub use tree::{Entry, MAX_YAML_BYTES, Node, Parsed, Value, parse_yaml};
pub use trust::trust;
