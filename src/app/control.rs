//! The desk of a run: the socket over which `bouncer approve` and `bouncer status` reach it.
//!
//! Without the socket nothing else changes: what could be approved stays refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix::prelude::*;

use crate::actors::control::{Desk, relay_control};
use crate::actors::session::SessionActor;
use crate::actors::status::{Setting, StatusActor};
use crate::actors::upstream::UpstreamActor;
use crate::config::log_file;
use crate::transport::ControlSocket;

use super::Settings;
use super::gate::Running;

/// A path that means the same to whoever asks.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The open socket, which closes when it is dropped, and who answers behind it.
pub(super) struct Open {
    pub(super) status: Addr<StatusActor>,
    _socket: ControlSocket,
}

/// Opens the socket and starts to answer.
pub(super) fn start(
    settings: &Settings,
    upstreams: &BTreeMap<Arc<str>, Addr<UpstreamActor>>,
    session: &Addr<SessionActor>,
    running: &Running,
) -> Option<Open> {
    let approval = &running.approval;
    let (socket, requests) = match ControlSocket::open(&settings.state) {
        Ok(opened) => opened,
        Err(error) => {
            tracing::warn!("`bouncer approve` and `bouncer status` cannot reach this process: {error}");
            return None;
        }
    };
    let logged = |(name, upstream): (&Arc<str>, &Addr<UpstreamActor>)| {
        (name.clone(), (upstream.clone(), log_file(&settings.state, name)))
    };
    let status = StatusActor::new(Setting {
        config: settings.config.file.clone(),
        policies: settings.policy_files.iter().map(|file| absolute(file)).collect(),
        audit: settings.audit_file(),
        program: socket.client(),
        upstreams: upstreams.iter().map(logged).collect(),
        session: session.clone().recipient(),
        holds: approval.clone().recipient(),
        waiting: running.policies.clone().recipient(),
    })
    .start();
    let desk = Desk {
        holds: approval.clone().recipient(),
        answer: approval.clone().recipient(),
        status: status.clone().recipient(),
    };
    actix::spawn(relay_control(requests, desk));
    Some(Open { status, _socket: socket })
}
