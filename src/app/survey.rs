//! A look at the servers without a client: every server of a config is started, listed once and
//! stopped. What `bouncer check` looks with.
//!
//! The servers run under the same machinery as in a session; the gate behind them only takes listings
//! down, and no call is ever sent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use actix::prelude::*;
use tokio::sync::{Semaphore, oneshot};
use tracing::warn;

use crate::actors::upstream::{Stop, UpstreamActor, UpstreamChanged, Watch};
use crate::actors::{
    Admission, AdmitAgain, AnswerJudgement, AskJudgement, Gate, JudgeAnswer, JudgeAsk, JudgeCall, Judgement,
    Meet, NotRecorded, RecordListing, RecordNotice, RecordOutput, RecordRefusal,
};
use crate::config::{Config, log_folder};
use crate::mcp::{Listing, Standing, Tool};
use crate::transport::Guardian;

use super::{Fault, STARTS_AT_ONCE, STOP_LIMIT, Settings, Signals, private_folder, upstream};

/// JSON-RPC: what an upstream gets that asks something of nobody.
const NO_CLIENT: i32 = -32601;

/// What one server showed.
#[derive(Debug, Clone, Default)]
pub struct Surveyed {
    /// Every tool that it lists.
    pub listed: Vec<Arc<Tool>>,
    /// Its `instructions`: hostile text.
    pub instructions: Option<String>,
    /// The tools that clients are offered; `None` when it could not be reached.
    pub offered: Option<Arc<Listing>>,
    /// Why it could not be reached.
    pub down: Option<String>,
}

/// Starts every server of the config, lists its tools and stops it again. The result holds each by its
/// configured name; an interrupt ends the wait, and what has not listed by then is down.
///
/// # Errors
/// The state folder cannot be made, where the servers' logs go, or the runtime does not start.
pub fn survey(config: &Config, state: &Path) -> Result<BTreeMap<String, Surveyed>, Fault> {
    private_folder(state)?;
    private_folder(&log_folder(state))?;
    let settings =
        Settings { config: config.clone(), state: state.to_owned(), audit: None, policy_files: Vec::new() };
    System::new().block_on(look(settings))
}

async fn look(settings: Settings) -> Result<BTreeMap<String, Surveyed>, Fault> {
    let mut signals = Signals::new().map_err(Fault::Runtime)?;
    let guardian = Rc::new(Guardian::default());
    guardian.start();
    let (done, all_seen) = oneshot::channel();
    let names: BTreeSet<String> =
        settings.config.upstreams.iter().map(|config| config.name.clone()).collect();
    let surveyor = Surveyor { open: names, seen: BTreeMap::new(), done: Some(done) }.start();
    let gate = Gate {
        judge: surveyor.clone().recipient(),
        record: surveyor.clone().recipient(),
        refusal: surveyor.clone().recipient(),
        listing: surveyor.clone().recipient(),
        again: surveyor.clone().recipient(),
        notice: surveyor.clone().recipient(),
        ask: surveyor.clone().recipient(),
        answer: surveyor.clone().recipient(),
    };
    let starts = Arc::new(Semaphore::new(STARTS_AT_ONCE));
    let mut upstreams = Vec::new();
    for config in &settings.config.upstreams {
        let address = UpstreamActor::new(upstream(config, &settings, &gate, &guardian, &starts)).start();
        // There is nobody to ask anything of, and nothing to wait for.
        let nobody = Meet { capabilities: bytes::Bytes::from_static(b"{}"), session: None };
        let _ = address.send(nobody).await;
        // An upstream that is gone already is one that never lists.
        let _ = address.send(Watch(surveyor.clone().recipient())).await;
        upstreams.push(address);
    }
    if !upstreams.is_empty() {
        tokio::select! {
            _ = all_seen => {}
            () = signals.any() => {}
        }
    }
    let endings: Vec<_> = upstreams.iter().map(|upstream| actix::spawn(upstream.send(Stop))).collect();
    let all = async {
        for ending in endings {
            let _ = ending.await;
        }
    };
    if tokio::time::timeout(STOP_LIMIT, all).await.is_err() {
        warn!("a server did not end in time");
    }
    guardian.end().await;
    let mut seen = surveyor.send(Tell).await.unwrap_or_default();
    for config in &settings.config.upstreams {
        let entry = seen.entry(config.name.clone()).or_default();
        if entry.offered.is_none() && entry.down.is_none() {
            entry.down = Some("it did not list its tools".to_owned());
        }
    }
    Ok(seen)
}

/// What was seen.
#[derive(Message)]
#[rtype(result = "BTreeMap<String, Surveyed>")]
struct Tell;

/// Takes listings down.
struct Surveyor {
    open: BTreeSet<String>,
    seen: BTreeMap<String, Surveyed>,
    done: Option<oneshot::Sender<()>>,
}

impl Actor for Surveyor {
    type Context = Context<Self>;
}

impl Handler<RecordListing> for Surveyor {
    type Result = MessageResult<RecordListing>;

    fn handle(&mut self, msg: RecordListing, _: &mut Self::Context) -> Self::Result {
        let entry = self.seen.entry(msg.upstream.to_string()).or_default();
        entry.listed = msg.tools;
        entry.instructions = msg.instructions;
        MessageResult(Ok(Admission::default()))
    }
}

impl Handler<AdmitAgain> for Surveyor {
    type Result = Option<Admission>;

    fn handle(&mut self, _: AdmitAgain, _: &mut Self::Context) -> Self::Result {
        // A survey withholds nothing.
        None
    }
}

impl Handler<UpstreamChanged> for Surveyor {
    type Result = ();

    fn handle(&mut self, msg: UpstreamChanged, _: &mut Self::Context) {
        let entry = self.seen.entry(msg.upstream.to_string()).or_default();
        match msg.standing {
            Standing::Starting => return,
            Standing::Ready(listing) => entry.offered = Some(listing),
            Standing::Down(why) if entry.offered.is_none() => entry.down = Some(why),
            Standing::Down(_) => {}
        }
        self.open.remove(&*msg.upstream);
        if self.open.is_empty()
            && let Some(done) = self.done.take()
        {
            let _ = done.send(());
        }
    }
}

impl Handler<JudgeCall> for Surveyor {
    type Result = MessageResult<JudgeCall>;

    fn handle(&mut self, _: JudgeCall, _: &mut Self::Context) -> Self::Result {
        // FAIL CLOSED: nobody calls here, and nobody could.
        MessageResult(Judgement::Refuse { text: crate::policy::BLOCKED.to_owned() })
    }
}

impl Handler<RecordOutput> for Surveyor {
    type Result = Result<(), NotRecorded>;

    fn handle(&mut self, _: RecordOutput, _: &mut Self::Context) -> Self::Result {
        Err(NotRecorded)
    }
}

impl Handler<RecordRefusal> for Surveyor {
    type Result = ();

    fn handle(&mut self, _: RecordRefusal, _: &mut Self::Context) {}
}

impl Handler<RecordNotice> for Surveyor {
    type Result = Result<(), NotRecorded>;

    fn handle(&mut self, _: RecordNotice, _: &mut Self::Context) -> Self::Result {
        // A survey shows what it reads to a person, escaped, and to no client.
        Ok(())
    }
}

// FAIL CLOSED: no client stands behind a survey, so nothing is asked of one.
impl Handler<JudgeAsk> for Surveyor {
    type Result = MessageResult<JudgeAsk>;

    fn handle(&mut self, _: JudgeAsk, _: &mut Self::Context) -> Self::Result {
        MessageResult(AskJudgement::Refuse { code: NO_CLIENT, why: crate::policy::BLOCKED.to_owned() })
    }
}

impl Handler<JudgeAnswer> for Surveyor {
    type Result = MessageResult<JudgeAnswer>;

    fn handle(&mut self, _: JudgeAnswer, _: &mut Self::Context) -> Self::Result {
        MessageResult(AnswerJudgement::Refuse { code: NO_CLIENT, why: crate::policy::BLOCKED.to_owned() })
    }
}

impl Handler<Tell> for Surveyor {
    type Result = MessageResult<Tell>;

    fn handle(&mut self, _: Tell, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.seen.clone())
    }
}
