//! Bytes in and out: our own stdin and stdout, child processes and their pipes, upstream logs, and
//! the sockets by which other processes of the user reach a running Bouncer.
//!
//! Nothing here knows what a message means. `wire.rs` moves bytes without blocking the one thread of
//! the data path; `child.rs` starts processes and makes sure that none is left over.

mod child;
mod environment;
mod errlog;
mod group;
mod guardian;
mod local;
mod wire;

pub use child::{Child, HELD_CHILD, Launch, SpawnFault, become_child, spawn};
pub use environment::{Inherit, child_environment};
pub use errlog::ErrorLog;
pub use guardian::{GUARD, Guardian, guard};
pub use local::{
    Answered, Asked, Choice, ControlSocket, Delivery, HeldCall, Prompt, PromptSocket, ReloadReport, Reply,
    Request, StandingReport, StatusReport, UpstreamReport, ask, is_heard, running, send as send_prompt,
};
pub use wire::{CHUNK, Reader, Writer, stdin, stdout};
