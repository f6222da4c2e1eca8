//! A gate that lets every call through and records nothing: what stands in until the real one does.

use actix::prelude::*;

use super::messages::{
    Admission, Gate, JudgeCall, Judgement, RecordListing, RecordOutput, RecordRefusal, Ticket,
};

/// The stand-in.
#[derive(Debug, Default)]
pub struct PassThrough;

impl PassThrough {
    /// Starts it.
    pub fn gate() -> Gate {
        let address = Self.start();
        Gate {
            judge: address.clone().recipient(),
            record: address.clone().recipient(),
            refusal: address.clone().recipient(),
            listing: address.recipient(),
        }
    }
}

impl Actor for PassThrough {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1024);
    }
}

impl Handler<JudgeCall> for PassThrough {
    type Result = MessageResult<JudgeCall>;

    fn handle(&mut self, message: JudgeCall, _: &mut Self::Context) -> Self::Result {
        MessageResult(Judgement::Forward { ticket: Ticket(message.call.0) })
    }
}

impl Handler<RecordOutput> for PassThrough {
    type Result = ();

    fn handle(&mut self, _: RecordOutput, _: &mut Self::Context) {}
}

impl Handler<RecordRefusal> for PassThrough {
    type Result = ();

    fn handle(&mut self, _: RecordRefusal, _: &mut Self::Context) {}
}

impl Handler<RecordListing> for PassThrough {
    type Result = MessageResult<RecordListing>;

    fn handle(&mut self, _: RecordListing, _: &mut Self::Context) -> Self::Result {
        MessageResult(Admission::default())
    }
}
