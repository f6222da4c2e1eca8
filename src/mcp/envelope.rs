//! The JSON-RPC 2.0 envelope over raw payloads: what kind of message a line is, its id, method and
//! the bytes of its params, result or error; and the lines we write ourselves.
//!
//! Nothing here looks into a payload but the duplicate check of what a client sends, because a
//! reader that takes the other one of two equal keys would run arguments that were never judged.
//! Outgoing envelopes are rebuilt from their parts, so that no unknown top-level member travels
//! past the gate. `session.rs` and `link.rs` are the readers.

use bytes::Bytes;

use crate::provenance::escaped as escape;

use super::scan::{self, Cursor, Deaf, Duplicates, Listener, Span};

/// JSON-RPC: not a valid request object.
pub(crate) const INVALID_REQUEST: i32 = -32600;
/// JSON-RPC: no such method.
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
/// JSON-RPC: params do not fit; in MCP also an unknown tool.
pub(crate) const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC: a fault on the answering side.
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// MCP: no such resource.
const NO_RESOURCE: i32 = -32002;
/// Of ours: a request that is no tool call is refused by policy.
pub(crate) const REFUSED: i32 = -32010;

/// A request id as its sender wrote it; compared by value, echoed byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(Bytes);

impl Id {
    /// The id as raw JSON: a string or a number.
    pub fn raw(&self) -> &[u8] {
        &self.0
    }

    /// The id as one of our own integers, also when a peer returns it as a string.
    pub fn number(&self) -> Option<u64> {
        let digits = match &*self.0 {
            [b'"', inner @ .., b'"'] => inner,
            whole => whole,
        };
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// The form for tables: two spellings of one string are one id.
    pub(crate) fn key(&self) -> Bytes {
        if memchr::memchr(b'\\', &self.0).is_some()
            && let Some(text) = scan::text(&self.0)
            && let Ok(plain) = serde_json::to_vec(&text)
        {
            return plain.into();
        }
        self.0.clone()
    }

    /// Reads an id from raw JSON; `None` unless it is a string or a number.
    pub(crate) fn read(raw: Bytes) -> Option<Self> {
        matches!(raw.first(), Some(b'"' | b'-' | b'0'..=b'9')).then_some(Self(raw))
    }
}

/// What the answer to a request holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// The raw `result`.
    Result(Bytes),
    /// The raw `error`.
    Error(Bytes),
    /// It names its `result` or `error` twice, or both.
    Ambiguous,
}

/// A line, told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// Wants an answer.
    Request {
        /// Its id.
        id: Id,
        /// Its method, decoded.
        method: Bytes,
        /// Its raw params.
        params: Option<Bytes>,
    },
    /// Wants none.
    Notification {
        /// Its method, decoded.
        method: Bytes,
        /// Its raw params.
        params: Option<Bytes>,
    },
    /// Answers a request of ours.
    Response {
        /// The id; `None` when it is null, absent or of a wrong type.
        id: Option<Id>,
        /// What it holds.
        body: Body,
    },
    /// A JSON-RPC batch: its entries as raw JSON.
    Batch(Vec<Bytes>),
    /// JSON, but no message that may be acted on.
    Invalid {
        /// Where an answer can go; `None` when there is no usable id.
        id: Option<Id>,
        /// What is wrong with it, in our own words.
        why: String,
    },
    /// No JSON at all.
    Junk(Junk),
}

/// Why a line is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Junk {
    /// Only white space.
    Blank,
    /// Not UTF-8.
    Encoding,
    /// The header of the Language Server Protocol's framing.
    ContentLength,
    /// Anything else.
    Text,
}

/// Who sent a line. A client is held to the letter, because what it sends is judged and forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// `jsonrpc` must be "2.0", and no object may hold a key twice.
    Client,
    /// Told apart as well as it can be.
    Upstream,
}

/// Tells a line apart.
pub(crate) fn read(line: &Bytes, sender: Sender) -> Incoming {
    let trimmed = trim(line);
    match trimmed.first() {
        None => return Incoming::Junk(Junk::Blank),
        Some(b'{' | b'[') => {}
        Some(_) => return Incoming::Junk(junk(&trimmed)),
    }
    if std::str::from_utf8(&trimmed).is_err() {
        return Incoming::Junk(Junk::Encoding);
    }
    if trimmed.first() == Some(&b'[') {
        return batch(&trimmed);
    }
    match sender {
        Sender::Client => {
            let mut keys = Duplicates::default();
            read_object(&trimmed, sender, &mut keys, Duplicates::found)
        }
        Sender::Upstream => read_object(&trimmed, sender, &mut Deaf, |_| None),
    }
}

fn trim(line: &Bytes) -> Bytes {
    let start = if line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let rest = line.get(start..).unwrap_or_default();
    let lead = rest.len() - rest.trim_ascii_start().len();
    let end = start + lead + rest.trim_ascii().len();
    line.slice(start + lead..end)
}

fn junk(line: &[u8]) -> Junk {
    const HEADER: &[u8] = b"content-length:";
    if line.get(..HEADER.len()).is_some_and(|head| head.eq_ignore_ascii_case(HEADER)) {
        Junk::ContentLength
    } else if std::str::from_utf8(line).is_err() {
        Junk::Encoding
    } else {
        Junk::Text
    }
}

fn batch(line: &Bytes) -> Incoming {
    let mut entries = Vec::new();
    let mut cursor = Cursor::new(line);
    match cursor.items(|item| entries.push(line.slice(item))).and_then(|()| cursor.end()) {
        Ok(()) => Incoming::Batch(entries),
        Err(_) => Incoming::Junk(Junk::Text),
    }
}

/// The top-level members that mean something, each with how often it stands there.
#[derive(Default)]
struct Members {
    jsonrpc: Option<Span>,
    id: Option<Span>,
    method: Option<Span>,
    params: Option<Span>,
    result: Option<Span>,
    error: Option<Span>,
    repeated: bool,
}

fn read_object<'a, L: Listener<'a>>(
    line: &'a Bytes,
    sender: Sender,
    listener: &mut L,
    duplicate: impl Fn(&L) -> Option<String>,
) -> Incoming {
    let mut found = Members::default();
    let mut repeated_id = false;
    let mut cursor = Cursor::new(line);
    let scanned = cursor.members_heard(listener, |key, value| {
        let key = scan::slice(line, &key);
        let slot = if scan::is(key, "jsonrpc") {
            &mut found.jsonrpc
        } else if scan::is(key, "id") {
            repeated_id |= found.id.is_some();
            &mut found.id
        } else if scan::is(key, "method") {
            &mut found.method
        } else if scan::is(key, "params") {
            &mut found.params
        } else if scan::is(key, "result") {
            &mut found.result
        } else if scan::is(key, "error") {
            &mut found.error
        } else {
            return;
        };
        found.repeated |= slot.is_some();
        *slot = Some(value);
    });
    if scanned.and_then(|()| cursor.end()).is_err() {
        return Incoming::Junk(Junk::Text);
    }
    let at = |span: &Option<Span>| span.clone().map(|span| line.slice(span));
    let id = if repeated_id { None } else { at(&found.id).and_then(Id::read) };
    if found.method.is_none() {
        return response(id, at(&found.result), at(&found.error), &found);
    }
    let invalid = |why: &str| Incoming::Invalid { id: id.clone(), why: why.to_owned() };
    if let Some(key) = duplicate(listener) {
        let key = escape(&key, 60);
        return Incoming::Invalid {
            id,
            why: format!("an object holds the key `{key}` twice, also when only case differs"),
        };
    }
    if found.repeated {
        return invalid("a member of the message stands there twice");
    }
    if sender == Sender::Client && at(&found.jsonrpc).is_none_or(|raw| !scan::is(&raw, "2.0")) {
        return invalid("`jsonrpc` is not \"2.0\"");
    }
    if found.result.is_some() || found.error.is_some() {
        return invalid("a message holds `method` beside `result` or `error`");
    }
    let Some(method) = at(&found.method).and_then(|raw| decoded(&raw)) else {
        return invalid("`method` is not a string");
    };
    let params = at(&found.params);
    match (found.id.is_some(), id) {
        (false, _) => Incoming::Notification { method, params },
        (true, Some(id)) => Incoming::Request { id, method, params },
        (true, None) => {
            Incoming::Invalid { id: None, why: "`id` is neither a string nor a number".to_owned() }
        }
    }
}

fn response(id: Option<Id>, result: Option<Bytes>, error: Option<Bytes>, found: &Members) -> Incoming {
    let body = match (result, error) {
        _ if found.repeated => Body::Ambiguous,
        (Some(_), Some(_)) => Body::Ambiguous,
        (Some(result), None) => Body::Result(result),
        (None, Some(error)) => Body::Error(error),
        (None, None) => {
            let why = "the message has neither `method` nor `result` nor `error`".to_owned();
            return Incoming::Invalid { id, why };
        }
    };
    Incoming::Response { id, body }
}

/// The text of a raw string as bytes, shared where no escape stands in it.
fn decoded(raw: &Bytes) -> Option<Bytes> {
    let text = scan::text(raw)?;
    Some(match text {
        std::borrow::Cow::Borrowed(_) => raw.slice(1..raw.len() - 1),
        std::borrow::Cow::Owned(text) => text.into(),
    })
}

const HEAD: &[u8] = b"{\"jsonrpc\":\"2.0\"";
const END: &[u8] = b"}\n";

/// A line: `{"jsonrpc":"2.0","id":ID,KEY:VALUE}` with its newline.
fn line_of(id: Option<&[u8]>, key: &[u8], value: &[&[u8]]) -> Bytes {
    let id = id.map(|id| [b",\"id\":", id]);
    let parts = [HEAD].into_iter().chain(id.into_iter().flatten()).chain([&b","[..], key]);
    let parts = parts.chain(value.iter().copied());
    // A vector without room to spare becomes shared bytes as it is.
    let mut out = Vec::with_capacity(parts.clone().map(<[u8]>::len).sum::<usize>() + END.len());
    parts.for_each(|part| out.extend_from_slice(part));
    scan::flatten(&mut out);
    out.extend_from_slice(END);
    out.into()
}

/// The line that answers `id` with a raw result.
pub(crate) fn result(id: &Id, raw: &[u8]) -> Bytes {
    line_of(Some(id.raw()), b"\"result\":", &[raw])
}

/// The line that answers `id` with a raw error object.
pub(crate) fn raw_error(id: &Id, raw: &[u8]) -> Bytes {
    line_of(Some(id.raw()), b"\"error\":", &[raw])
}

/// The line that answers `id` with an error of our own.
pub(crate) fn error(id: &Id, code: i32, message: &str) -> Bytes {
    let raw = serde_json::json!({ "code": code, "message": message }).to_string();
    raw_error(id, raw.as_bytes())
}

/// The line that says that nobody has the resource with this raw uri.
pub(crate) fn no_resource(id: &Id, uri: &[u8]) -> Bytes {
    let head = format!(
        "{{\"code\":{NO_RESOURCE},\"message\":\"no server lists this resource, or a template for it\""
    );
    raw_error(id, &[head.as_bytes(), b",\"data\":{\"uri\":", uri, b"}}"].concat())
}

/// The line of a request of our own, with raw params.
pub(crate) fn request(id: u64, method: &str, params: &[u8]) -> Bytes {
    let id = id.to_string();
    line_of(Some(id.as_bytes()), b"\"method\":\"", &[method.as_bytes(), b"\",\"params\":", params])
}

/// The line of a request that is passed on, with raw params where it had any.
pub(crate) fn passed_request(id: u64, method: &str, params: Option<&[u8]>) -> Bytes {
    match params {
        Some(params) => request(id, method, params),
        None => line_of(Some(id.to_string().as_bytes()), b"\"method\":\"", &[method.as_bytes(), b"\""]),
    }
}

/// The line of a notification of our own, with raw params where it has any.
pub(crate) fn notification(method: &str, params: Option<&[u8]>) -> Bytes {
    match params {
        Some(params) => line_of(None, b"\"method\":\"", &[method.as_bytes(), b"\",\"params\":", params]),
        None => line_of(None, b"\"method\":\"", &[method.as_bytes(), b"\""]),
    }
}

/// The line of a notification that an upstream sent, whatever its method.
pub(crate) fn raw_notification(method: &str, params: Option<&[u8]>) -> Bytes {
    // A method is text like any other: what needs an escape gets one.
    let quoted = serde_json::Value::from(method).to_string();
    let method = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    notification(method, params)
}

/// A tool result that says `text` and is an error: what a refused or failed call gets.
pub(crate) fn refusal(id: &Id, text: &str) -> Bytes {
    let raw =
        serde_json::json!({ "content": [{ "type": "text", "text": text }], "isError": true }).to_string();
    result(id, raw.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(line: &str) -> Incoming {
        read(&Bytes::copy_from_slice(line.as_bytes()), Sender::Client)
    }

    fn upstream(line: &str) -> Incoming {
        read(&Bytes::copy_from_slice(line.as_bytes()), Sender::Upstream)
    }

    fn id(raw: &str) -> Id {
        Id::read(Bytes::copy_from_slice(raw.as_bytes())).unwrap()
    }

    #[test]
    fn messages_are_told_apart_and_payloads_stay_raw() {
        for raw in ["0", "\"u-77\"", "9007199254740993", "-5", "1.5", "\"14f40ee1b859ee70\""] {
            let line =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{raw},\"method\":\"m\",\"params\":{{\"a\" : 1e400}}}}");
            let expected = Incoming::Request {
                id: id(raw),
                method: Bytes::from_static(b"m"),
                params: Some(Bytes::from_static(b"{\"a\" : 1e400}")),
            };
            assert_eq!(client(&line), expected);
        }
        assert_eq!(
            client("\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"a\\/b\"}\r"),
            Incoming::Notification { method: Bytes::from_static(b"a/b"), params: None }
        );
        assert_eq!(
            upstream("{\"id\":null,\"error\":{}}"),
            Incoming::Response { id: None, body: Body::Error(Bytes::from_static(b"{}")) }
        );
    }

    #[test]
    fn what_may_not_be_acted_on_says_why() {
        fn check(line: &str, expected_id: Option<&str>, expected: &str) {
            let Incoming::Invalid { id: found, why } = client(line) else { panic!("{line}") };
            assert_eq!(found, expected_id.map(id), "{line}");
            assert!(why.contains(expected), "{line}: {why}");
        }
        check(r#"{"id":5,"method":"tools/list"}"#, Some("5"), "jsonrpc");
        check(r#"{"jsonrpc":"2.0","id":null,"method":"tools/call"}"#, None, "`id`");
        check(r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, None, "`id`");
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"k":1,"K":2}}}"#,
            Some("1"),
            "`k` twice",
        );
        check(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#, None, "twice");
        check(r#"{"jsonrpc":"2.0","id":1,"method":"x","Params":{},"params":{}}"#, Some("1"), "twice");
        check(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Some("1"), "`method`");
        check(r#"{"jsonrpc":"2.0","id":1,"method":"x","result":1}"#, Some("1"), "beside");
        check(r#"{"jsonrpc":"2.0","id":1}"#, Some("1"), "neither");
    }

    #[test]
    fn an_answer_with_two_bodies_is_ambiguous() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{"content":[]}}"#,
        ] {
            assert_eq!(upstream(line), Incoming::Response { id: Some(id("1")), body: Body::Ambiguous });
        }
    }

    #[test]
    fn junk_is_named() {
        assert_eq!(client("  \r"), Incoming::Junk(Junk::Blank));
        assert_eq!(client("content-LENGTH: 38"), Incoming::Junk(Junk::ContentLength));
        assert_eq!(client("Example MCP Server version : 1.0.0"), Incoming::Junk(Junk::Text));
        assert_eq!(client("{\"a\":}"), Incoming::Junk(Junk::Text));
        let bytes = read(&Bytes::from_static(b"\xff\xfe"), Sender::Client);
        assert_eq!(bytes, Incoming::Junk(Junk::Encoding));
        assert_eq!(
            client("[1,{}]"),
            Incoming::Batch(vec![Bytes::from_static(b"1"), Bytes::from_static(b"{}")])
        );
    }

    #[test]
    fn ids_compare_by_value_and_echo_by_byte() {
        assert_eq!(id("\"\\u0061\"").key(), id("\"a\"").key());
        assert_eq!(
            &result(&id("\"\\u0061\""), b"{}")[..],
            b"{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\",\"result\":{}}\n"
        );
        assert_eq!(id("\"17\"").number(), Some(17));
        assert_eq!(id("-1").number(), None);
    }

    #[test]
    fn lines_have_exactly_one_break() {
        let line = result(&id("1"), b"{\n\"a\":\r\n1}");
        assert_eq!(&line[..], b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{ \"a\":  1}}\n");
        assert_eq!(
            &notification("notifications/initialized", None)[..],
            b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
        );
        assert_eq!(
            &request(7, "tools/list", b"{}")[..],
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{}}\n"
        );
    }
}
