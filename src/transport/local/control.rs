//! The control socket: what waits for a person, and the person's answers.
//!
//! Only processes of the same user are heard, and none that a Bouncer of this state folder has
//! started: a server must not be able to answer the question about it. Whether a person typed the
//! answer is the asking command's to make sure (it takes answers on a terminal only); a program of the
//! user that pretends to be one is outside of what can be told apart here.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};

use super::control_wire::{Asked, Reply, Request};
use super::listen::Listening;
use super::peer::{self, Client};
use super::place::{self, Kind};

/// Requests that wait for a reader.
const QUEUE: usize = 32;
/// How long a request may take to come and to be answered.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest request, in bytes.
const LINE: u64 = 4096;

/// An open control socket. Dropping it closes it and removes its file.
#[derive(Debug)]
pub struct ControlSocket {
    _listening: Listening,
    client: Client,
}

impl ControlSocket {
    /// Opens the socket of this process in a state folder, which is made if it is missing, and
    /// returns it with the requests that come in.
    ///
    /// # Errors
    /// The folder or the socket cannot be made, or the folder is open to other users.
    pub fn open(state: &Path) -> io::Result<(Self, mpsc::Receiver<Asked>)> {
        let (deliver, asked) = mpsc::channel(QUEUE);
        let folder = place::folder(state);
        let listening = Listening::open(state, Kind::Control, PATIENCE, move |stream| {
            let peer = peer::of_this_user(&stream)?;
            let sockets = place::sockets(&folder, Kind::Control);
            let bouncers: Vec<u32> = sockets.into_iter().map(|(pid, _)| pid).collect();
            // FAIL CLOSED: who cannot be looked up may be one of our servers, and so may anyone be where more
            // sockets lie about than are looked at.
            let may_ask = bouncers.len() < place::MOST
                && peer.pid.is_some_and(|pid| !peer::is_below_a_bouncer(pid, &bouncers));
            let deliver = deliver.clone();
            Some(Box::pin(async move {
                // Who has gone needs no answer.
                let _ = take(stream, may_ask.then_some(deliver)).await;
            }))
        })?;
        Ok((Self { _listening: listening, client: Client::of_this_process() }, asked))
    }

    /// The program that started this Bouncer, launchers left out, and its process. The name is the
    /// program's own: hostile text.
    pub fn client(&self) -> Option<(String, u32)> {
        self.client.name()
    }
}

async fn take(mut stream: UnixStream, deliver: Option<mpsc::Sender<Asked>>) -> io::Result<()> {
    let mut line = Vec::new();
    BufReader::new((&mut stream).take(LINE)).read_until(b'\n', &mut line).await?;
    let reply = match (deliver, Request::from_line(&line)) {
        (None, _) => Reply::NotHeard("this process was started by a Bouncer".to_owned()),
        (Some(_), None) => Reply::NotHeard("it is of another version".to_owned()),
        (Some(deliver), Some(request)) => {
            let (reply, answer) = oneshot::channel();
            let asked = deliver.send(Asked { request, reply }).await.is_ok();
            let answer = if asked { answer.await.ok() } else { None };
            answer.unwrap_or_else(|| Reply::NotHeard("it is ending".to_owned()))
        }
    };
    stream.write_all(&reply.to_line()).await
}
