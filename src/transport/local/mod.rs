//! The sockets of the state folder: how other processes of the user reach a running Bouncer.
//!
//! Each Bouncer listens on two (`listen`, in the folder that `place` names). Over the prompt socket a
//! client's hook hands in what the user typed (`send`, `prompts`, `wire`): the listener asks the
//! kernel who wrote it and the process table whether that is a child of its own client (`peer`,
//! `process`). Over the control socket `bouncer approve` and `bouncer status` see and answer what
//! waits for a person (`ask`, `control`, `control_wire`); no server of a Bouncer is heard there.

#[cfg(unix)]
mod ask;
#[cfg(unix)]
mod control;
#[cfg_attr(not(unix), expect(dead_code, reason = "nobody sends or reads a line there"))]
mod control_wire;
#[cfg(unix)]
mod listen;
#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod prompts;
#[cfg(unix)]
mod send;
#[cfg(not(unix))]
mod unsupported;
#[cfg_attr(not(unix), expect(dead_code, reason = "nobody sends or reads a line there"))]
mod wire;

#[cfg(unix)]
pub use ask::{ask, is_heard, running};
#[cfg(unix)]
pub use control::ControlSocket;
pub use control_wire::{
    Answered, Asked, Choice, HeldCall, ReloadReport, Reply, Request, StandingReport, StatusReport,
    UpstreamReport,
};
#[cfg(unix)]
pub use prompts::PromptSocket;
#[cfg(unix)]
pub use send::send;
#[cfg(not(unix))]
pub use unsupported::{ControlSocket, PromptSocket, ask, is_heard, running, send};
pub use wire::{Delivery, Prompt};
