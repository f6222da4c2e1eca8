//! The prompt socket: a starting Bouncer opens it before anything else, and what comes before anyone
//! reads the deliveries waits in the queue.
//!
//! The words of a process that is not a child of this Bouncer's client are heard, but as pasted.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};

use crate::provenance::Origin;

use super::listen::Listening;
use super::peer::{self, Client};
use super::place::Kind;
use super::wire::{self, Delivery, Prompt};

/// Prompts that wait for a reader.
const QUEUE: usize = 256;
/// How long a connection may take to send its line, and how long an answer is owed.
const PATIENCE: Duration = Duration::from_secs(1);

/// An open prompt socket. Dropping it closes it and removes its file.
#[derive(Debug)]
pub struct PromptSocket(Listening);

impl PromptSocket {
    /// Opens the socket of this process in a state folder, which is made if it is missing, and
    /// returns it with the prompts that come in.
    ///
    /// # Errors
    /// The folder or the socket cannot be made, or the folder is open to other users.
    pub fn open(state: &Path) -> io::Result<(Self, mpsc::Receiver<Delivery>)> {
        let client = Client::of_this_process();
        let (deliver, deliveries) = mpsc::channel(QUEUE);
        let socket = Listening::open(state, Kind::Prompts, PATIENCE, move |stream| {
            let origin = origin_of(&stream, &client)?;
            let deliver = deliver.clone();
            Some(Box::pin(async move {
                // Who has gone needs no answer.
                let _ = take(stream, origin, deliver).await;
            }))
        })?;
        Ok((Self(socket), deliveries))
    }

    /// The socket's file.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// How the sender's words count; `None` for another user's process, which is not heard at all.
fn origin_of(stream: &UnixStream, client: &Client) -> Option<Origin> {
    // FAIL CLOSED: who cannot be looked up has pasted.
    let own = peer::of_this_user(stream)?.pid.is_some_and(|pid| client.vouches_for(pid));
    Some(if own { Origin::Typed } else { Origin::Pasted })
}

async fn take(mut stream: UnixStream, sender: Origin, deliver: mpsc::Sender<Delivery>) -> io::Result<()> {
    let mut line = Vec::new();
    BufReader::new((&mut stream).take(wire::LINE)).read_until(b'\n', &mut line).await?;
    let Some(mut prompt) = Prompt::from_line(&line) else { return Ok(()) };
    prompt.origin = prompt.origin.max(sender);
    let answer = if prompt.origin == Origin::Typed { wire::TYPED } else { wire::PASTED };
    let (stored, wait) = oneshot::channel();
    if deliver.send(Delivery { prompt, stored }).await.is_ok() && wait.await.is_ok() {
        stream.write_all(answer).await?;
    }
    Ok(())
}
