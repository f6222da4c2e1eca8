//! `bouncer serve`: an MCP server on stdin and stdout that answers questions about verdicts, policies and
//! the audit log. It starts no server, sends no call and writes to no log, and `run` never offers its tools.
//!
//! `server.rs` speaks the protocol, `tools.rs`, `prompts.rs` and `resources.rs` say what is offered;
//! `verdict.rs` judges hypothetical calls with the same code as the proxy, `draft.rs` drafts policies.

mod draft;
mod knowledge;
mod prompts;
mod resources;
mod server;
mod tools;
mod verdict;

pub use knowledge::Knowledge;
pub use server::{Server, serve};
