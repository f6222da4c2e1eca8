//! An upstream as others see it: what it takes and what it tells.

use std::sync::Arc;

use actix::prelude::*;

use super::UpstreamActor;
use crate::actors::messages::{CallNumber, SessionId};
use crate::actors::reverse::{Meet, RootsChanged};
use crate::mcp::{Forward, Level, Outcome, Span, Standing};

/// Send this call, and answer with how it ended.
pub struct Call {
    /// Who calls.
    pub session: SessionId,
    /// Its number of the call.
    pub call: CallNumber,
    /// What to send.
    pub forward: Forward,
    /// Who hears of progress.
    pub progress: Option<Arc<Recipient<Progress>>>,
}

impl Message for Call {
    type Result = Outcome;
}

/// The client gave this call up; its [`Call`] ends with [`Outcome::Cancelled`].
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Cancel {
    /// Who called.
    pub session: SessionId,
    /// Its number of the call.
    pub call: CallNumber,
    /// The client's raw reason.
    pub reason: Option<bytes::Bytes>,
}

/// An upstream reports progress of a call.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Progress {
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// The session's number of the call.
    pub call: CallNumber,
    /// Raw params of the notification.
    pub params: bytes::Bytes,
    /// Where the token stands in them.
    pub token: Span,
}

/// An upstream stands otherwise than before.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct UpstreamChanged {
    /// Its configured name.
    pub upstream: Arc<str>,
    /// How it stands.
    pub standing: Standing,
}

/// Tell this recipient how the upstream stands, now and after every change.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Watch(pub Recipient<UpstreamChanged>);

/// A notification of an upstream that is about no call.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Heard {
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// Its method.
    pub method: bytes::Bytes,
    /// Its raw params.
    pub params: Option<bytes::Bytes>,
}

/// Tell this recipient what the upstream tells its clients.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Listen(pub Recipient<Heard>);

/// A session wants log messages from this level on.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct SetLevel {
    /// Which.
    pub session: SessionId,
    /// The level.
    pub level: Level,
}

/// End the process for good; answered when nothing of it is left.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Stop;

/// The upstream was taken out of the configuration: it offers nothing any more, and ends.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Remove;

/// An upstream as a session sees it: the recipients of three messages.
#[derive(Clone)]
pub struct Port {
    /// Sends calls.
    pub call: Arc<Recipient<Call>>,
    /// Hears which calls were given up.
    pub cancel: Recipient<Cancel>,
    /// Tells how the upstream stands.
    pub watch: Recipient<Watch>,
    /// Tells what the upstream tells.
    pub listen: Recipient<Listen>,
    /// Hears from which level on log messages are wanted.
    pub level: Recipient<SetLevel>,
    /// Is told of the client.
    pub meet: Recipient<Meet>,
    /// Hears that the client's roots are others than before.
    pub roots: Recipient<RootsChanged>,
}

impl From<&Addr<UpstreamActor>> for Port {
    fn from(upstream: &Addr<UpstreamActor>) -> Self {
        Self {
            call: Arc::new(upstream.clone().recipient()),
            cancel: upstream.clone().recipient(),
            watch: upstream.clone().recipient(),
            listen: upstream.clone().recipient(),
            level: upstream.clone().recipient(),
            meet: upstream.clone().recipient(),
            roots: upstream.clone().recipient(),
        }
    }
}
