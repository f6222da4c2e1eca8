//! The way of a user's words from a client's hook to the Bouncer of that client.
//!
//! A Bouncer listens on a socket in the state folder (`socket`), the hook process writes the prompt
//! to every such socket (`send`), and the listener asks the kernel who wrote it and the process
//! table whether that is a child of its own client (`peer`, `process`): only then it is the user who
//! types. Everything here is bounded in time, because a hook must never delay a client.

#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod send;
#[cfg(unix)]
mod socket;
#[cfg(not(unix))]
mod unsupported;
mod wire;

#[cfg(unix)]
pub use send::send;
#[cfg(unix)]
pub use socket::PromptSocket;
#[cfg(not(unix))]
pub use unsupported::{PromptSocket, send};
pub use wire::{Delivery, Prompt};
