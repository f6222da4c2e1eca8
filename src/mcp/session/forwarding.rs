//! Who a request is for: exported names to upstreams and their own names, uris to upstreams.
//!
//! What is found is handed on as a [`Forward`] in the client's own bytes, with the names replaced. A
//! name or uri that nobody has is answered here.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::mcp::catalog::{Resolved, Tool};
use crate::mcp::envelope::{self, Id};
use crate::mcp::link::Forward;
use crate::mcp::method::Method;
use crate::mcp::requests::{self, ToolCall};
use crate::mcp::routes::Found;
use crate::mcp::scan::{self, Span};
use crate::mcp::tasks::Wanted;
use crate::provenance::escaped as escape;

use super::{Command, Offer, Session};

impl Session {
    pub(super) fn call(&mut self, id: Id, params: Option<Bytes>, out: &mut Vec<Command>) {
        let refuse = |name: &str, answer: Bytes, why: String, out: &mut Vec<Command>| {
            out.push(Command::Send(answer));
            out.push(Command::Refused(name.to_owned(), why));
        };
        let Some(call) = params.and_then(ToolCall::read) else {
            let why = "`params` of a tools/call is no object with a string `name`";
            return refuse("", envelope::error(&id, envelope::INVALID_PARAMS, why), why.to_owned(), out);
        };
        let (tool, offer) = match self.catalog.resolve(&call.exported) {
            Resolved::Tool(tool) => (tool, Offer::Shown),
            Resolved::Withheld(tool) => (tool, Offer::Withheld),
            Resolved::Refused(why) => {
                return refuse(
                    &call.exported,
                    envelope::error(&id, envelope::INVALID_PARAMS, &why),
                    why,
                    out,
                );
            }
            Resolved::Unknown => {
                let why = format!("unknown tool `{}`", escape(&call.exported, 80));
                return refuse(
                    &call.exported,
                    envelope::error(&id, envelope::INVALID_PARAMS, &why),
                    why,
                    out,
                );
            }
        };
        let name = Value::from(&*tool.name).to_string().into();
        let forward = Forward {
            method: Method::CallTool,
            tool,
            params: call.params,
            edits: vec![(call.name, name)],
            token: call.token,
            wanted: call.wanted,
        };
        self.forward(id, forward, call.arguments, offer, out);
    }

    /// `resources/read`, `resources/subscribe`, `resources/unsubscribe`.
    pub(super) fn resource(&mut self, id: Id, method: &[u8], params: Option<Bytes>, out: &mut Vec<Command>) {
        let params = params.unwrap_or_default();
        let raw = scan::member(&params, "uri").map(|span| params.slice(span)).unwrap_or_default();
        let Some(uri) = scan::text(&raw) else {
            return malformed(&id, "`params` is no object with a string `uri`", out);
        };
        let Found::At(upstream, address) = self.catalog.resource(&uri) else {
            out.push(Command::Send(envelope::no_resource(&id, &raw)));
            out.push(Command::Refused(uri.into_owned(), "no server has this resource".to_owned()));
            return;
        };
        let method = match method {
            b"resources/subscribe" => Method::Subscribe(address),
            b"resources/unsubscribe" => Method::Unsubscribe,
            _ => Method::ReadResource(address),
        };
        self.hand_on(id, method, upstream, params, Vec::new(), out);
    }

    /// `prompts/get`.
    pub(super) fn prompt(&mut self, id: Id, params: Option<Bytes>, out: &mut Vec<Command>) {
        let params = params.unwrap_or_default();
        let Some((span, name)) = text_at(&params, "name") else {
            return malformed(&id, "`params` of a prompts/get is no object with a string `name`", out);
        };
        match self.catalog.prompt(&name) {
            Ok((upstream, prompt)) => {
                let edits = vec![(span, quoted(&prompt.key))];
                self.hand_on(id, Method::GetPrompt, upstream, params, edits, out);
            }
            Err(why) => unknown(&id, name, why, out),
        }
    }

    /// `completion/complete`: of a prompt's argument or of a template's variable.
    pub(super) fn complete(&mut self, id: Id, params: Option<Bytes>, out: &mut Vec<Command>) {
        let params = params.unwrap_or_default();
        let Some(at) = scan::member(&params, "ref") else {
            return malformed(&id, "`params` of a completion/complete has no `ref`", out);
        };
        let reference = params.slice(at.clone());
        if let Some((_, uri)) = text_at(&reference, "uri") {
            let upstream = match self.catalog.claimed(&uri) {
                Some(upstream) => Ok(upstream.clone()),
                None => match self.catalog.resource(&uri) {
                    Found::At(upstream, _) => Ok(upstream),
                    Found::Nowhere => Err(format!("no server lists the template `{}`", escape(&uri, 80))),
                },
            };
            match upstream {
                Ok(upstream) => self.hand_on(id, Method::Complete, upstream, params, Vec::new(), out),
                Err(why) => unknown(&id, uri, why, out),
            }
            return;
        }
        let Some((span, name)) = text_at(&reference, "name") else {
            return malformed(&id, "`ref` of a completion/complete has neither `name` nor `uri`", out);
        };
        match self.catalog.prompt(&name) {
            Ok((upstream, prompt)) => {
                let span = at.start + span.start..at.start + span.end;
                let edits = vec![(span, quoted(&prompt.key))];
                self.hand_on(id, Method::Complete, upstream, params, edits, out);
            }
            Err(why) => unknown(&id, name, why, out),
        }
    }

    /// Hands on a request that is no tool call. The gate knows it by its method's name.
    pub(super) fn hand_on(
        &mut self,
        id: Id,
        method: Method,
        upstream: Arc<str>,
        params: Bytes,
        edits: Vec<(Span, Bytes)>,
        out: &mut Vec<Command>,
    ) {
        let judged = requests::judged(&params, &edits);
        let token = requests::token(&params);
        let tool = Arc::new(Tool::standing_for(method, upstream));
        let forward = Forward { method, tool, params, edits, token, wanted: Wanted::Result };
        self.forward(id, forward, Some(judged), Offer::Shown, out);
    }
}

pub(super) fn malformed(id: &Id, why: &str, out: &mut Vec<Command>) {
    out.push(Command::Send(envelope::error(id, envelope::INVALID_PARAMS, why)));
}

/// Answers a request for what nobody has, and has that recorded.
pub(super) fn unknown(id: &Id, name: String, why: String, out: &mut Vec<Command>) {
    malformed(id, &why, out);
    out.push(Command::Refused(name, why));
}

pub(super) fn quoted(text: &str) -> Bytes {
    Value::from(text).to_string().into()
}

/// A string member: where it stands, and its text.
pub(super) fn text_at(raw: &[u8], name: &str) -> Option<(Span, String)> {
    let span = scan::member(raw, name)?;
    let text = scan::text(scan::slice(raw, &span))?.into_owned();
    Some((span, text))
}
