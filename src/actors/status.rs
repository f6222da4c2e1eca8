//! The status actor: what `bouncer status` shows of a running Bouncer.
//!
//! It watches the upstreams as a session does and asks the others when it is asked. Nothing depends
//! on it: a Bouncer without it only cannot be looked at.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use actix::prelude::*;

use crate::clock;
use crate::mcp::Standing;
use crate::transport::{ReloadReport, StandingReport, StatusReport, UpstreamReport};

use super::approval::{CountHolds, Counts};
use super::gate::{ListWaiting, Waiting};
use super::session::NameClient;
use super::upstream::{UpstreamActor, UpstreamChanged, Watch};

/// How does this Bouncer stand?
#[derive(Debug, Clone, Copy)]
pub struct ReportStatus;

impl Message for ReportStatus {
    type Result = StatusReport;
}

/// Config and policy were read again.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct NoteReload {
    /// What became of it; what of its rules waits is asked of the gate.
    pub report: ReloadReport,
    /// The policy files from now on, where they loaded.
    pub policies: Option<Vec<PathBuf>>,
    /// Upstreams that were stopped.
    pub removed: Vec<Arc<str>>,
}

/// What waits, as a person reads it.
pub fn waits(waiting: &Waiting) -> String {
    let Waiting { upstream, tool, parts } = waiting;
    format!("tool `{upstream}.{tool}` keeps its rule: the new one may be looser ({})", parts.join(", "))
}

/// What a status actor is told once.
pub struct Setting {
    /// The config.
    pub config: PathBuf,
    /// The policy files.
    pub policies: Vec<PathBuf>,
    /// The audit log.
    pub audit: PathBuf,
    /// The program that started us and its process: hostile text.
    pub program: Option<(String, u32)>,
    /// The upstreams by name, each with the file of what it writes to its stderr.
    pub upstreams: BTreeMap<Arc<str>, (Addr<UpstreamActor>, PathBuf)>,
    /// Knows the client's name.
    pub session: Recipient<NameClient>,
    /// Counts what waits for a person.
    pub holds: Recipient<CountHolds>,
    /// Knows what of the newest policy waits.
    pub waiting: Recipient<ListWaiting>,
}

struct Row {
    standing: StandingReport,
    since: u64,
    ends: u32,
    has_served: bool,
    tools: usize,
    withheld: BTreeMap<String, String>,
}

/// The actor.
pub struct StatusActor {
    setting: Setting,
    started: u64,
    reload: Option<ReloadReport>,
    rows: BTreeMap<Arc<str>, Row>,
}

impl StatusActor {
    /// An actor that watches from now on.
    pub fn new(setting: Setting) -> Self {
        let started = clock::unix_millis();
        let row = || Row {
            standing: StandingReport::Starting,
            since: started,
            ends: 0,
            has_served: false,
            tools: 0,
            withheld: BTreeMap::new(),
        };
        let rows = setting.upstreams.keys().map(|name| (name.clone(), row())).collect();
        Self { setting, started, reload: None, rows }
    }

    fn report(&self, client: &str, counts: Counts, waiting: &[Waiting]) -> StatusReport {
        let mut reload = self.reload.clone();
        if let Some(reload) = &mut reload {
            reload.waiting.extend(waiting.iter().map(waits));
        }
        let upstreams = self.rows.iter().map(|(name, row)| UpstreamReport {
            name: name.to_string(),
            standing: row.standing.clone(),
            since: row.since,
            ends: row.ends,
            tools: row.tools,
            withheld: row.withheld.clone(),
            log: self.setting.upstreams.get(name).map(|(_, log)| log.display().to_string()),
        });
        StatusReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: self.started,
            client: client.to_owned(),
            program: self.setting.program.clone(),
            config: self.setting.config.display().to_string(),
            policies: self.setting.policies.iter().map(|file| file.display().to_string()).collect(),
            reload,
            audit: self.setting.audit.display().to_string(),
            upstreams: upstreams.collect(),
            open: counts.open,
            waiting: counts.waiting,
            held: counts.held,
        }
    }
}

impl Actor for StatusActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(4_096);
        for (upstream, _) in self.setting.upstreams.values() {
            let request = upstream.send(Watch(ctx.address().recipient()));
            actix::spawn(async move {
                // One that is gone stays as it was last seen.
                let _ = request.await;
            });
        }
    }
}

impl Row {
    /// Takes over how the upstream stands now.
    fn stand(&mut self, standing: Standing, now: u64) {
        if self.standing == StandingReport::Removed {
            return;
        }
        let report = match standing {
            Standing::Starting => StandingReport::Starting,
            Standing::Ready(listing) => {
                self.has_served = true;
                let shown = listing.tools.iter().filter(|tool| !listing.withheld.contains_key(&tool.name));
                self.tools = shown.count();
                self.withheld =
                    listing.withheld.iter().map(|(name, why)| (name.to_string(), why.clone())).collect();
                StandingReport::Up
            }
            Standing::Down(why) => {
                self.ends = self.ends.saturating_add(1);
                if self.has_served { StandingReport::Restarting(why) } else { StandingReport::Failed(why) }
            }
        };
        if self.standing != report {
            self.standing = report;
            self.since = now;
        }
    }
}

impl Handler<UpstreamChanged> for StatusActor {
    type Result = ();

    fn handle(&mut self, message: UpstreamChanged, _: &mut Self::Context) {
        if let Some(row) = self.rows.get_mut(&message.upstream) {
            row.stand(message.standing, clock::unix_millis());
        }
    }
}

impl Handler<NoteReload> for StatusActor {
    type Result = ();

    fn handle(&mut self, message: NoteReload, _: &mut Self::Context) {
        for name in message.removed {
            if let Some(row) = self.rows.get_mut(&name) {
                (row.standing, row.since, row.tools) = (StandingReport::Removed, message.report.at, 0);
                row.withheld.clear();
            }
        }
        if let Some(policies) = message.policies {
            self.setting.policies = policies;
        }
        self.reload = Some(message.report);
    }
}

impl Handler<ReportStatus> for StatusActor {
    type Result = ResponseActFuture<Self, StatusReport>;

    fn handle(&mut self, _: ReportStatus, _: &mut Self::Context) -> Self::Result {
        let (client, counts) = (self.setting.session.send(NameClient), self.setting.holds.send(CountHolds));
        let waiting = self.setting.waiting.send(ListWaiting);
        let asked = async move {
            let waiting = waiting.await.unwrap_or_default();
            (client.await.unwrap_or_default(), counts.await.unwrap_or_default(), waiting)
        };
        let told = asked.into_actor(self);
        Box::pin(told.map(|(client, counts, waiting), actor, _| actor.report(&client, counts, &waiting)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::Listing;

    #[test]
    fn an_upstream_fails_before_it_has_served_and_restarts_after() {
        let mut row = Row {
            standing: StandingReport::Starting,
            since: 1,
            ends: 0,
            has_served: false,
            tools: 0,
            withheld: BTreeMap::new(),
        };
        let why = || "it stopped".to_owned();
        let mut check = |standing, now, expected: StandingReport, since, ends| {
            row.stand(standing, now);
            assert_eq!((&row.standing, row.since, row.ends), (&expected, since, ends));
        };
        check(Standing::Starting, 2, StandingReport::Starting, 1, 0);
        check(Standing::Down(why()), 3, StandingReport::Failed(why()), 3, 1);
        check(Standing::Down(why()), 4, StandingReport::Failed(why()), 3, 2);
        check(Standing::Ready(Arc::new(Listing::default())), 5, StandingReport::Up, 5, 2);
        check(Standing::Down(why()), 6, StandingReport::Restarting(why()), 6, 3);
    }
}
