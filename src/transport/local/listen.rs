//! A listening socket of a state folder, on a thread of its own.
//!
//! The thread takes a connection and looks up its sender while the sender still runs, however busy
//! the rest is. The file appears under its name only when the socket listens, and goes when it is
//! dropped; files of processes that have died are removed by the next one that starts.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, oneshot};

use super::place::{self, Kind};

/// Connections at a time.
const CONNECTIONS: usize = 32;

/// What is done with a connection; `None` when it is not heard at all.
pub(super) type Served = Option<Pin<Box<dyn Future<Output = ()>>>>;

/// An open socket. Dropping it closes it and removes its file.
#[derive(Debug)]
pub(super) struct Listening {
    path: PathBuf,
    /// Dropped to end the thread.
    _stop: oneshot::Sender<()>,
}

impl Listening {
    /// Opens the socket of this process in a state folder, which is made if it is missing. A
    /// connection that is not done after `patience` is closed.
    ///
    /// # Errors
    /// The folder or the socket cannot be made, or the folder is open to other users.
    pub(super) fn open(
        state: &Path,
        kind: Kind,
        patience: Duration,
        serve: impl Fn(UnixStream) -> Served + Send + 'static,
    ) -> io::Result<Self> {
        let folder = place::folder(state);
        place::make(&folder)?;
        remove_dead(&folder, kind);
        let pid = std::process::id();
        let path = folder.join(format!("{pid}.{}", kind.suffix()));
        let fresh = folder.join(format!(".{pid}.{}.new", kind.suffix()));
        let _ = fs::remove_file(&fresh);
        let listener = StdListener::bind(&fresh)?;
        listener.set_nonblocking(true)?;
        fs::set_permissions(&fresh, Permissions::from_mode(0o600))?;
        // ORDER: the name appears when the socket listens, so that nobody takes it for a dead one.
        fs::rename(&fresh, &path)?;
        let (stop, stopped) = oneshot::channel();
        std::thread::Builder::new().name(kind.suffix().to_owned()).spawn(move || {
            // Without a runtime the socket is closed again, and others find nobody.
            if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
                let local = tokio::task::LocalSet::new();
                local.block_on(&runtime, listen(listener, patience, serve, stopped));
            }
        })?;
        Ok(Self { path, _stop: stop })
    }

    /// The socket's file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the sockets of processes that have died.
fn remove_dead(folder: &Path, kind: Kind) {
    for (_, path) in place::sockets(folder, kind) {
        if std::os::unix::net::UnixStream::connect(&path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            let _ = fs::remove_file(&path);
        }
    }
}

async fn listen(
    listener: StdListener,
    patience: Duration,
    serve: impl Fn(UnixStream) -> Served,
    stopped: oneshot::Receiver<()>,
) {
    let Ok(listener) = UnixListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let accept = async {
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let Some(served) = serve(stream) else { continue };
                    tokio::task::spawn_local(async move {
                        // A connection that says nothing within the time says nothing.
                        let _ = tokio::time::timeout(patience, served).await;
                        drop(place);
                    });
                }
                // Out of descriptors or the like: it passes.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stopped => {}
    }
}
