//! The requests of a client that go on to an upstream.
//!
//! Each is judged, numbered, forwarded, cancelled and recorded in the same way; what differs between them
//! is said here. Lists, `initialize`, `ping` and `logging/setLevel` are answered by the session itself.

/// A request that goes on to one upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// `tools/call`.
    CallTool,
    /// `resources/read`.
    ReadResource(Address),
    /// `resources/subscribe`.
    Subscribe(Address),
    /// `resources/unsubscribe`.
    Unsubscribe,
    /// `prompts/get`.
    GetPrompt,
    /// `completion/complete`.
    Complete,
    /// `tasks/get`: how a task stands.
    GetTask,
    /// `tasks/result`: what came of a call that was answered with a task.
    TaskResult,
    /// `tasks/cancel`.
    CancelTask,
}

/// How an upstream came to be asked for a uri.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// The upstream listed exactly this uri.
    Listed,
    /// The client made it: from a template, from a link it read, or out of nothing.
    Made,
}

impl Method {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::ReadResource(_) => "resources/read",
            Self::Subscribe(_) => "resources/subscribe",
            Self::Unsubscribe => "resources/unsubscribe",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
            Self::GetTask => "tasks/get",
            Self::TaskResult => "tasks/result",
            Self::CancelTask => "tasks/cancel",
        }
    }

    /// What a refusal looks like to the client.
    pub fn refusal(self) -> RefusalForm {
        match self {
            Self::CallTool => RefusalForm::ToolResult,
            Self::ReadResource(_)
            | Self::Subscribe(_)
            | Self::Unsubscribe
            | Self::GetPrompt
            | Self::Complete
            | Self::GetTask
            | Self::TaskResult
            | Self::CancelTask => RefusalForm::Error,
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
