//! Systems without Unix sockets: nobody listens, and nothing is sent. Prompts are then unknown, which
//! costs questions, and only the client can show these.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tokio::sync::mpsc::Receiver;

use super::{Asked, Delivery, Prompt, Reply, Request};

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

/// A socket that cannot be opened here.
#[derive(Debug)]
pub struct ControlSocket;

impl ControlSocket {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn open(_state: &Path) -> io::Result<(Self, Receiver<Asked>)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Nothing is known here.
    pub fn client(&self) -> Option<(String, u32)> {
        None
    }
}

/// Sends nothing.
pub fn send(_state: &Path, _prompt: &Prompt, _until: Instant) -> usize {
    0
}

/// Finds nobody.
pub fn running(_state: &Path) -> Vec<(u32, PathBuf)> {
    Vec::new()
}

/// Nobody is.
pub fn is_heard(_socket: &Path) -> bool {
    false
}

/// Asks nobody.
///
/// # Errors
/// Always.
pub fn ask(_socket: &Path, _request: &Request) -> io::Result<Reply> {
    Err(io::ErrorKind::Unsupported.into())
}
