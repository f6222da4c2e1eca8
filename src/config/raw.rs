//! The keys of `bouncer.yaml`: every name a person can write, with what it means. The checker, the
//! reference and the JSON Schema are made from these tables.

use crate::pack::raw::{Key, Shape, key};

/// The keys of the file.
pub const FILE: &[Key] = &[
    key("upstreams", Shape::PerName(&Shape::Record(UPSTREAM)), "The servers to stand in for, by name."),
    key(
        "policy",
        Shape::Policies,
        "Policy files, beside this one, or a policy written out; later ones are on top.",
    ),
    key("list_wait", Shape::Duration, "How long `tools/list` waits for servers that are starting; 4 s."),
    key(
        "question_wait",
        Shape::Duration,
        "How long a call waits for the answer to its question in the client; 55 s, at most 10 min. Keep it below the client's own limit for a call.",
    ),
    key(
        "limits",
        Shape::Record(LIMITS),
        "What is given up or refused, and when; each is said with its key where it is met.",
    ),
    key("pins", Shape::Word(PINS), "What a tool that changed since it was first seen means; `enforce`."),
];

/// The keys of one upstream.
pub const UPSTREAM: &[Key] = &[
    key("command", Shape::Text, "The program that starts the server."),
    key("args", Shape::Texts, "Its arguments."),
    key("env", Shape::TextMap, "Variables that are set for it."),
    key("cwd", Shape::Text, "The folder it runs in; relative ones are beside this file."),
    key(
        "prefix",
        Shape::Text,
        "What stands before `__` in the names clients see; the upstream's name. `\"\"` for the bare names.",
    ),
    key("start_timeout", Shape::Duration, "How long it may take to start."),
    key("call_timeout", Shape::Duration, "How long a call may take."),
    key("pack", Shape::Text, "The pack that is this server's; `none` binds none."),
    key("inherit_env", Shape::WordOrTexts("all"), "Variables it inherits beside the harmless ones."),
    key("tools", Shape::Record(TOOLS), "Which of its tools exist for clients."),
    key("local", Shape::Boolean, "`true`: it keeps what it is given on this machine."),
    key("disabled", Shape::Boolean, "`true`: it is not started."),
    key("type", Shape::Text, "The transport; `stdio`."),
    key("url", Shape::Text, "The url of a remote server; not proxied yet, reported and skipped."),
    key("headers", Shape::TextMap, "The headers of a remote server."),
];

/// The keys of `tools`.
pub const TOOLS: &[Key] = &[
    key("allow", Shape::Texts, "Only these, with `*`."),
    key("deny", Shape::Texts, "Not these, with `*`, whatever `allow` says."),
];

/// The keys of `limits`.
pub const LIMITS: &[Key] = &[
    key("message_bytes", Shape::Size, "The longest message on a wire; 64M."),
    key("history_bytes", Shape::Size, "The history that values are traced in; 64M."),
    key(
        "open_requests",
        Shape::Count,
        "Requests of the client that wait for their answers; one more is refused; 4096.",
    ),
    key(
        "sessions",
        Shape::Count,
        "Bouncers that run at once over one state folder, each with a client; one more does not start; 100.",
    ),
    key(
        "log_lines",
        Shape::Count,
        "Different things that Bouncer's own log says of one server in a run; 100.",
    ),
    key(
        "restarts_per_minute",
        Shape::Count,
        "Starts of one server within a minute; then it waits until the minute is over; 10.",
    ),
];

/// The words of `pins`.
pub const PINS: &[&str] = &["warn", "enforce", "off"];
