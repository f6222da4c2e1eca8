//! Client programs: where each keeps its MCP servers, how to import, rewrite and restore that file, and its hooks.
//!
//! `known` is the table of clients. `entry` decides what becomes of one server, with what its client
//! says of it elsewhere (`approved`, `lists`), and `edit` changes a file in place. Read `cli/init.rs` for how they come together.

pub mod approved;
mod carried;
pub mod edit;
pub mod entry;
mod hook_file;
pub mod hooks;
pub mod install;
mod json_file;
pub mod known;
pub mod lists;
pub mod locate;
pub mod pins;
pub mod plan;
mod record;
mod toml_file;
mod variables;

pub use hook_file::HookEdit;
pub use record::Record;
