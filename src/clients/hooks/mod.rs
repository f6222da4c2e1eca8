//! What each client's hook says of the user's prompt, and what the hook may answer.
//!
//! Only the raw prompt event counts as typed. Whatever else carries text (a sub-agent's task, a
//! prompt that the client has transformed) is pasted, and anything that is no prompt is nothing. The
//! hooks of all clients answer in the least way there is: the prompt goes on as it is.

mod client;
mod payload;

pub use client::HookClient;
pub use payload::{Said, read};
