//! One end of a byte stream, polled from the actor that owns it.
//!
//! Pipes and sockets are read and written without blocking and without a helper thread, one system
//! call a message where the kernel has it in one piece. Files, terminals and `/dev/null` cannot be
//! polled; they get a thread (reading) or the runtime's blocking pool (writing). What is written is
//! queued and leaves in one vectored call a turn of the loop.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

#[cfg(unix)]
use std::os::fd::{AsFd, OwnedFd};
#[cfg(unix)]
use tokio::net::unix::pipe;

/// The size of one read, and what we ask the system to let a pipe hold (64 KiB is usual), because every
/// turn of a large message through a small pipe wakes both sides.
pub const CHUNK: usize = 256 * 1024;
/// Slices handed to one vectored write.
const SLICES: usize = 64;

/// The reading end of a stream.
pub struct Reader {
    source: Source,
}

enum Source {
    Thread(mpsc::Receiver<io::Result<Bytes>>),
    Any(Pin<Box<dyn AsyncRead>>),
}

impl Reader {
    /// Wraps the runtime's own kind of stream.
    pub fn any(stream: impl AsyncRead + 'static) -> Self {
        Self { source: Source::Any(Box::pin(stream)) }
    }

    /// Takes a pipe over and makes it non-blocking.
    ///
    /// # Errors
    /// It is no pipe, or cannot be polled.
    #[cfg(unix)]
    pub fn pipe(fd: OwnedFd) -> io::Result<Self> {
        widen(&fd);
        Ok(Self::any(pipe::Receiver::from_owned_fd(fd)?))
    }

    /// Reads what is there into `buffer`, which is not empty; 0 bytes mean the end of the stream.
    ///
    /// # Errors
    /// The system's.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match &mut self.source {
            Source::Thread(chunks) => match ready!(chunks.poll_recv(cx)) {
                Some(Ok(chunk)) => {
                    let count = chunk.len().min(buffer.len());
                    for (to, from) in buffer.iter_mut().zip(chunk.iter()) {
                        *to = *from;
                    }
                    Poll::Ready(Ok(count))
                }
                Some(Err(error)) => Poll::Ready(Err(error)),
                None => Poll::Ready(Ok(0)),
            },
            Source::Any(stream) => {
                let mut buffer = ReadBuf::new(buffer);
                ready!(stream.as_mut().poll_read(cx, &mut buffer))?;
                Poll::Ready(Ok(buffer.filled().len()))
            }
        }
    }
}

/// The writing end of a stream, with what is still to be written.
pub struct Writer {
    sink: Pin<Box<dyn AsyncWrite>>,
    queue: VecDeque<Bytes>,
    queued: usize,
}

impl Writer {
    /// Wraps the runtime's own kind of stream.
    pub fn any(stream: impl AsyncWrite + 'static) -> Self {
        Self { sink: Box::pin(stream), queue: VecDeque::new(), queued: 0 }
    }

    /// Takes a pipe over and makes it non-blocking.
    ///
    /// # Errors
    /// It is no pipe, or cannot be polled.
    #[cfg(unix)]
    pub fn pipe(fd: OwnedFd) -> io::Result<Self> {
        widen(&fd);
        Ok(Self::any(pipe::Sender::from_owned_fd(fd)?))
    }

    /// Queues a line.
    pub fn push(&mut self, line: Bytes) {
        if !line.is_empty() {
            self.queued += line.len();
            self.queue.push_back(line);
        }
    }

    /// Bytes that are not yet written.
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Writes as much as the stream takes; ready when nothing is left.
    ///
    /// # Errors
    /// The system's: the other end is closed.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.queue.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let filled = self
                .queue
                .iter()
                .zip(slices.iter_mut())
                .map(|(line, slice)| *slice = IoSlice::new(line))
                .count();
            let slices = slices.get(..filled).unwrap_or_default();
            let written = ready!(self.sink.as_mut().poll_write_vectored(cx, slices))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(written);
        }
        self.sink.as_mut().poll_flush(cx)
    }

    fn advance(&mut self, mut written: usize) {
        self.queued = self.queued.saturating_sub(written);
        while let Some(first) = self.queue.front_mut() {
            if first.len() > written {
                first.advance(written);
                return;
            }
            written -= first.len();
            self.queue.pop_front();
        }
    }
}

/// Lets a pipe hold more, where the system and its limits allow; it works without.
#[cfg(unix)]
fn widen(fd: &OwnedFd) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(fd, CHUNK);
    #[cfg(not(target_os = "linux"))]
    let _ = fd;
}

/// This process's stdin.
///
/// # Errors
/// It cannot be polled.
pub fn stdin() -> io::Result<Reader> {
    #[cfg(unix)]
    match own(std::io::stdin().as_fd(), "/proc/self/fd/0", rustix::fs::OFlags::RDONLY)? {
        Own::Pipe(fd) => return Reader::pipe(fd),
        Own::Socket(stream) => return Ok(Reader::any(stream)),
        Own::Neither => {}
    }
    let (sender, receiver) = mpsc::channel(4);
    // A thread of our own, not the runtime's pool: a read of a terminal cannot be called off, and
    // the pool would hold up the end of the process.
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || read_all(&sender))?;
    Ok(Reader { source: Source::Thread(receiver) })
}

fn read_all(sender: &mpsc::Sender<io::Result<Bytes>>) {
    use std::io::Read as _;
    let mut stdin = std::io::stdin().lock();
    let mut buffer = vec![0; CHUNK];
    loop {
        let chunk = match stdin.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => Ok(Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = chunk.is_err();
        if sender.blocking_send(chunk).is_err() || is_last {
            return;
        }
    }
}

/// This process's stdout.
///
/// # Errors
/// It cannot be polled.
pub fn stdout() -> io::Result<Writer> {
    #[cfg(unix)]
    match own(std::io::stdout().as_fd(), "/proc/self/fd/1", rustix::fs::OFlags::WRONLY)? {
        Own::Pipe(fd) => return Writer::pipe(fd),
        Own::Socket(stream) => return Ok(Writer::any(stream)),
        Own::Neither => {}
    }
    Ok(Writer::any(tokio::io::stdout()))
}

/// What can be polled, as a descriptor of our own.
#[cfg(unix)]
enum Own {
    Pipe(OwnedFd),
    Socket(tokio::net::UnixStream),
    Neither,
}

/// A pipe is opened anew where the system lets us, because the non-blocking flag belongs to the open
/// file, which a shell may share with us. Node hands its children sockets instead of pipes.
#[cfg(unix)]
fn own(fd: std::os::fd::BorrowedFd<'_>, path: &str, access: rustix::fs::OFlags) -> io::Result<Own> {
    use rustix::fs::{FileType, Mode, OFlags};
    match FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) {
        FileType::Fifo => {
            let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC;
            match rustix::fs::open(path, flags, Mode::empty()) {
                Ok(anew) => Ok(Own::Pipe(anew)),
                Err(_) => Ok(Own::Pipe(fd.try_clone_to_owned()?)),
            }
        }
        FileType::Socket => {
            let stream = std::os::unix::net::UnixStream::from(fd.try_clone_to_owned()?);
            stream.set_nonblocking(true)?;
            Ok(Own::Socket(tokio::net::UnixStream::from_std(stream)?))
        }
        _ => Ok(Own::Neither),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_queued_arrives_in_order_through_a_full_pipe() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (read, write) = rustix::pipe::pipe().unwrap();
            let mut reader = Reader::pipe(read).unwrap();
            let mut writer = Writer::pipe(write).unwrap();
            let mut expected = Vec::new();
            for number in 0..5_000_u32 {
                let line = format!("{number} {}\n", "x".repeat(number as usize % 97));
                expected.extend_from_slice(line.as_bytes());
                writer.push(line.into());
            }
            assert_eq!(writer.queued(), expected.len());
            let mut found = Vec::new();
            let mut buffer = vec![0; CHUNK];
            let mut writer = Some(writer);
            std::future::poll_fn(|cx| {
                if let Some(open) = &mut writer
                    && let Poll::Ready(flushed) = open.poll_flush(cx)
                {
                    flushed.unwrap();
                    writer = None;
                }
                while let Poll::Ready(count) = reader.poll_read(cx, &mut buffer) {
                    match count.unwrap() {
                        0 => return Poll::Ready(()),
                        count => found.extend_from_slice(&buffer[..count]),
                    }
                }
                Poll::Pending
            })
            .await;
            assert!(found == expected);
        });
    }
}
