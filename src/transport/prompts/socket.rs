//! The listening side: a socket that a starting Bouncer opens before anything else.
//!
//! It runs on a thread of its own, so that a prompt is taken and its sender is checked while the
//! sender still runs, however busy the rest is. What comes before anyone reads the deliveries waits
//! in the queue. The file appears under its name only when the socket listens, and goes when the
//! socket is dropped.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::provenance::Origin;

use super::peer::Client;
use super::place;
use super::wire::{self, Delivery, Prompt};

/// Prompts that wait for a reader.
const QUEUE: usize = 256;
/// Connections at a time.
const CONNECTIONS: usize = 32;
/// How long a connection may take to send its line, and how long an answer is owed.
const PATIENCE: Duration = Duration::from_secs(1);

/// An open prompt socket. Dropping it closes it and removes its file.
#[derive(Debug)]
pub struct PromptSocket {
    path: PathBuf,
    /// Dropped to end the thread.
    _stop: oneshot::Sender<()>,
}

impl PromptSocket {
    /// Opens the socket of this process in a state folder, which is made if it is missing, and
    /// returns it with the prompts that come in.
    ///
    /// # Errors
    /// The folder or the socket cannot be made, or the folder is open to other users.
    pub fn open(state: &Path) -> io::Result<(Self, mpsc::Receiver<Delivery>)> {
        let folder = place::folder(state);
        place::make(&folder)?;
        remove_dead(&folder);
        let pid = std::process::id();
        let path = folder.join(format!("{pid}.sock"));
        let fresh = folder.join(format!(".{pid}.new"));
        let _ = fs::remove_file(&fresh);
        let listener = StdListener::bind(&fresh)?;
        listener.set_nonblocking(true)?;
        fs::set_permissions(&fresh, Permissions::from_mode(0o600))?;
        // ORDER: the name appears when the socket listens, so that nobody takes it for a dead one.
        fs::rename(&fresh, &path)?;
        let client = Client::of_this_process();
        let (deliver, deliveries) = mpsc::channel(QUEUE);
        let (stop, stopped) = oneshot::channel();
        std::thread::Builder::new().name("prompts".to_owned()).spawn(move || {
            // Without a runtime the socket is closed again, and hooks find nobody.
            if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
                let local = tokio::task::LocalSet::new();
                local.block_on(&runtime, listen(listener, Rc::new(client), deliver, stopped));
            }
        })?;
        Ok((Self { path, _stop: stop }, deliveries))
    }

    /// The socket's file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PromptSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the sockets of processes that have died.
fn remove_dead(folder: &Path) {
    for (_, path) in place::sockets(folder) {
        if std::os::unix::net::UnixStream::connect(&path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            let _ = fs::remove_file(&path);
        }
    }
}

async fn listen(
    listener: StdListener,
    client: Rc<Client>,
    deliver: mpsc::Sender<Delivery>,
    stopped: oneshot::Receiver<()>,
) {
    let Ok(listener) = UnixListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let serve = async {
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let Some(origin) = origin_of(&stream, &client) else { continue };
                    let deliver = deliver.clone();
                    tokio::task::spawn_local(async move {
                        // A connection that says nothing within the time says nothing.
                        let _ = tokio::time::timeout(PATIENCE, take(stream, origin, deliver)).await;
                        drop(place);
                    });
                }
                // Out of descriptors or the like: it passes.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    tokio::select! {
        () = serve => {}
        _ = stopped => {}
    }
}

/// How the sender's words count; `None` for another user's process, which is not heard at all.
fn origin_of(stream: &UnixStream, client: &Client) -> Option<Origin> {
    let peer = stream.peer_cred().ok()?;
    if peer.uid() != rustix::process::getuid().as_raw() {
        return None;
    }
    // FAIL CLOSED: who cannot be looked up has pasted.
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
    let own = pid.is_some_and(|pid| client.vouches_for(pid));
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
