//! One call as the gate sees it: parsed arguments, digest, and the effect of this very call.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::actors::messages::{JudgeAnswer, JudgeCall};
use crate::mcp::{Method, Tool};

/// A digest that no other split of the same bytes into parts has.
pub(super) fn digest_of(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    data_encoding::HEXLOWER.encode(&digest.finalize())
}

/// A call whose arguments were read.
pub(super) struct Call {
    pub(super) msg: JudgeCall,
    pub(super) raw: Bytes,
    pub(super) arguments: Arc<Value>,
    /// For the answer of a client to an upstream: becomes true when nobody waits for it any more.
    pub(super) over: Option<watch::Receiver<bool>>,
}

/// Arguments that cannot be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// They are no JSON that can be looked into (too deep, a number out of range, a lone surrogate).
    NotReadable,
    /// They are not an object.
    NotAnObject,
}

impl Unreadable {
    /// The rule that they break, for refusals.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::NotReadable => "the arguments cannot be read as JSON that could be checked",
            Self::NotAnObject => "the arguments are not an object",
        }
    }
}

impl Call {
    /// Reads the arguments. Absent and `null` arguments are an empty object. A call whose arguments cannot be
    /// read is only refused.
    pub(super) fn read(msg: JudgeCall) -> (Self, Result<(), Unreadable>) {
        let raw = msg.arguments.clone().unwrap_or_else(|| Bytes::from_static(b"{}"));
        // FAIL CLOSED: what passes as raw JSON but cannot be looked into is refused, never "nothing found".
        let arguments = match serde_json::from_slice(&raw) {
            Ok(Value::Null) => Value::Object(serde_json::Map::new()),
            Ok(Value::Object(members)) => Value::Object(members),
            Ok(_) => return (Self::unreadable(msg), Err(Unreadable::NotAnObject)),
            Err(_) => return (Self::unreadable(msg), Err(Unreadable::NotReadable)),
        };
        (Self { msg, raw, arguments: Arc::new(arguments), over: None }, Ok(()))
    }

    /// The answer of a client to an upstream, whose content was read before.
    pub(super) fn of_answer(msg: &JudgeAnswer, tool: Arc<Tool>, raw: Bytes) -> Self {
        let arguments = serde_json::from_slice(&raw).unwrap_or_default();
        let judged = JudgeCall {
            session: msg.session,
            call: msg.call,
            client: Arc::clone(&msg.client),
            method: Method::CallTool,
            tool,
            arguments: Some(raw.clone()),
            asker: msg.asker.clone(),
            patience: msg.patience,
        };
        Self { msg: judged, raw, arguments: Arc::new(arguments), over: Some(msg.over.clone()) }
    }

    /// Digest of upstream, tool and arguments: what a single answer covers.
    pub(super) fn digest(&self) -> String {
        let tool = &self.msg.tool;
        // A tool may have the name of a method; what was granted for one is not for the other.
        let kind: &[u8] = match self.msg.method {
            _ if self.is_answer() => b"answer",
            Method::CallTool => b"tool",
            _ => b"request",
        };
        digest_of(&[kind, tool.upstream.as_bytes(), tool.name.as_bytes(), &self.raw])
    }

    /// Whether this is no call, but what a client answers an upstream.
    pub(super) fn is_answer(&self) -> bool {
        self.over.is_some()
    }

    fn unreadable(msg: JudgeCall) -> Self {
        let raw = msg.arguments.clone().unwrap_or_default();
        Self { msg, raw, arguments: Arc::new(Value::Null), over: None }
    }
}
