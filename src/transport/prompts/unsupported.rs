//! Systems without Unix sockets: nobody listens, and nothing is sent. Prompts are then unknown, which
//! costs questions.

use std::io;
use std::path::Path;
use std::time::Instant;

use tokio::sync::mpsc::Receiver;

use super::{Delivery, Prompt};

/// A socket that cannot be opened here.
#[derive(Debug)]
pub struct PromptSocket;

impl PromptSocket {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn open(_state: &Path) -> io::Result<(Self, Receiver<Delivery>)> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Sends nothing.
pub fn send(_state: &Path, _prompt: &Prompt, _until: Instant) -> usize {
    0
}
