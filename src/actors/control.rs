//! From the control socket to the actors that can answer: what is held, what a person answers, how
//! this Bouncer stands.
//!
//! One request at a time is enough for a person, and keeps answers in the order in which they came.

use actix::Recipient;
use tokio::sync::mpsc::Receiver;

use crate::transport::{Answered, Asked, Reply, Request};

use super::late::{AnswerHeld, ListHeld};
use super::status::ReportStatus;

/// Who can answer.
#[derive(Clone)]
pub struct Desk {
    /// Lists what is held.
    pub holds: Recipient<ListHeld>,
    /// Takes answers.
    pub answer: Recipient<AnswerHeld>,
    /// Tells how this Bouncer stands.
    pub status: Recipient<ReportStatus>,
}

/// Answers requests until the socket is closed. A part that is gone is said, not hidden.
pub async fn relay_control(mut requests: Receiver<Asked>, desk: Desk) {
    while let Some(Asked { request, reply }) = requests.recv().await {
        let gone = || Reply::NotHeard("a part of it is not running; restart it".to_owned());
        let answer = match request {
            Request::Status => {
                desk.status.send(ReportStatus).await.map(|report| Reply::Status(Box::new(report)))
            }
            Request::Holds => desk.holds.send(ListHeld).await.map(Reply::Holds),
            Request::Answer { id, choice } => {
                let answered = desk.answer.send(AnswerHeld { id, choice }).await;
                if matches!(answered, Ok(Answered::Taken)) {
                    tracing::info!("a person answered about a held call");
                }
                answered.map(Reply::Answered)
            }
        };
        // Who has gone needs no answer.
        let _ = reply.send(answer.unwrap_or_else(|_| gone()));
    }
}
