//! Moving bytes between a stream and the actor that owns it, within the actor's own turn.
//!
//! A pump is polled whenever its actor is: it hands over what has arrived, lets the actor go on with what
//! that began, and flushes what the turn has queued in one write, so a message crosses from pipe to actor
//! without a hop through another task or mailbox.

use std::io;
use std::pin::Pin;
use std::task::{self, Poll};

use actix::fut::ActorFuture;
use actix::{Actor, Context};

use crate::mcp::{Frame, Lines};
use crate::transport::{CHUNK, Reader, Writer};

/// Both directions of a connection.
pub(super) struct Stream {
    pub(super) reader: Reader,
    pub(super) writer: Outlet,
    pub(super) lines: Lines,
}

/// A writer that can be closed before the stream is dropped.
pub(super) struct Outlet(Option<Writer>);

impl Outlet {
    pub(super) fn new(writer: Writer) -> Self {
        Self(Some(writer))
    }

    /// Queues a line; a closed outlet swallows it.
    pub(super) fn push(&mut self, line: bytes::Bytes) {
        if let Some(writer) = &mut self.0 {
            writer.push(line);
        }
    }

    /// Bytes that are not yet written.
    pub(super) fn queued(&self) -> usize {
        self.0.as_ref().map_or(0, Writer::queued)
    }

    /// Closes the other end's stdin.
    pub(super) fn close(&mut self) {
        self.0 = None;
    }

    /// Writes what is queued; ready when nothing is left or nothing can be written.
    pub(super) fn poll_flush(&mut self, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Some(writer) => writer.poll_flush(cx),
            None => Poll::Ready(Ok(())),
        }
    }
}

thread_local! {
    /// All streams of a thread read into one buffer, because what was read is copied out before the
    /// next read.
    static BUFFER: std::cell::RefCell<Vec<u8>> = std::cell::RefCell::new(vec![0; CHUNK]);
}

impl Stream {
    /// Reads once and tells `each` what that completes. `Ready(false)`: nothing will come any more.
    pub(super) fn pull(&mut self, cx: &mut task::Context<'_>, each: impl FnMut(Frame)) -> Poll<bool> {
        BUFFER.with_borrow_mut(|buffer| match self.reader.poll_read(cx, buffer) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(count)) if count > 0 => {
                self.lines.push(buffer.get(..count).unwrap_or_default(), each);
                Poll::Ready(true)
            }
            Poll::Ready(_) => Poll::Ready(false),
        })
    }
}

/// An actor with a stream.
pub(super) trait Pumped: Actor<Context = Context<Self>> {
    /// The stream of this generation, while it is there.
    fn stream(&mut self, generation: u64) -> Option<&mut Stream>;
    /// Goes on with what the actor has under way, before what it queues is written.
    fn go_on(&mut self, _ctx: &mut Context<Self>, _cx: &mut task::Context<'_>) {}
    /// A frame has arrived.
    fn frame(&mut self, frame: Frame, ctx: &mut Context<Self>);
    /// The stream has ended, or can no longer be written to.
    fn ended(&mut self, ctx: &mut Context<Self>);
}

/// The pump of one stream.
pub(super) struct Pump {
    generation: u64,
    frames: Vec<Frame>,
    has_ended: bool,
}

/// Reads in one turn; then others get theirs.
const READS: usize = 16;

impl Pump {
    pub(super) fn new(generation: u64) -> Self {
        Self { generation, frames: Vec::new(), has_ended: false }
    }
}

impl<A: Pumped> ActorFuture<A> for Pump {
    type Output = ();

    fn poll(
        mut self: Pin<&mut Self>,
        actor: &mut A,
        ctx: &mut Context<A>,
        cx: &mut task::Context<'_>,
    ) -> Poll<()> {
        let this = &mut *self;
        for turn in 0.. {
            let Some(stream) = actor.stream(this.generation) else { return Poll::Ready(()) };
            if this.has_ended {
                break;
            }
            if turn == READS {
                cx.waker().wake_by_ref();
                break;
            }
            let frames = &mut this.frames;
            match stream.pull(cx, |frame| frames.push(frame)) {
                Poll::Pending => break,
                Poll::Ready(true) => {}
                Poll::Ready(false) => {
                    this.has_ended = true;
                    this.frames.extend(stream.lines.finish());
                }
            }
            for frame in this.frames.drain(..) {
                actor.frame(frame, ctx);
            }
            if this.has_ended {
                actor.ended(ctx);
            }
        }
        actor.go_on(ctx, cx);
        let Some(stream) = actor.stream(this.generation) else { return Poll::Ready(()) };
        if let Poll::Ready(Err(_)) = stream.writer.poll_flush(cx) {
            stream.writer.close();
            if !this.has_ended {
                this.has_ended = true;
                actor.ended(ctx);
            }
        }
        Poll::Pending
    }
}
