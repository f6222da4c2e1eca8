//! The requests of a client that go on to an upstream.
//!
//! Each is judged, numbered, forwarded, cancelled and recorded in the same way; what differs between them
//! is said here. Lists, `initialize`, `ping` and `logging/setLevel` are answered by the session itself.

/// A request that goes on to one upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// `tools/call`.
    CallTool,
}

impl Method {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
        }
    }

    /// What a refusal looks like to the client.
    pub fn refusal(self) -> RefusalForm {
        match self {
            Self::CallTool => RefusalForm::ToolResult,
        }
    }
}

/// How a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalForm {
    /// A tool result with `isError: true`, which the model reads.
    ToolResult,
    /// A JSON-RPC error.
    Error,
}
