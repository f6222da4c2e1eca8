//! One call as the gate sees it: parsed arguments, digest, and the effect of this very call.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::actors::messages::JudgeCall;
use crate::mcp::Method;

/// A call whose arguments were read.
pub(super) struct Call {
    pub(super) msg: JudgeCall,
    pub(super) raw: Bytes,
    pub(super) arguments: Arc<Value>,
    /// Digest of upstream, tool and arguments: what a single answer covers.
    pub(super) digest: String,
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
    /// Reads the arguments. Absent and `null` arguments are an empty object.
    pub(super) fn read(msg: JudgeCall) -> Result<Self, Unreadable> {
        let raw = msg.arguments.clone().unwrap_or_else(|| Bytes::from_static(b"{}"));
        // FAIL CLOSED: what passes as raw JSON but cannot be looked into is refused, never "nothing found".
        let arguments = match serde_json::from_slice(&raw) {
            Ok(Value::Null) => Value::Object(serde_json::Map::new()),
            Ok(Value::Object(members)) => Value::Object(members),
            Ok(_) => return Err(Unreadable::NotAnObject),
            Err(_) => return Err(Unreadable::NotReadable),
        };
        let mut digest = Sha256::new();
        if msg.method != Method::CallTool {
            // A tool may have the name of a method; what was granted for one is not for the other.
            digest.update(b"request");
        }
        for part in [msg.tool.upstream.as_bytes(), msg.tool.name.as_bytes(), raw.as_ref()] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        let digest = data_encoding::HEXLOWER.encode(&digest.finalize());
        Ok(Self { msg, raw, arguments: Arc::new(arguments), digest })
    }

    /// A call whose arguments could not be read: only refused.
    pub(super) fn unreadable(msg: JudgeCall) -> Self {
        let raw = msg.arguments.clone().unwrap_or_default();
        Self { msg, raw, arguments: Arc::new(Value::Null), digest: String::new() }
    }
}
