//! From the prompt socket to the actor that keeps the user's words.
//!
//! A prompt is acknowledged only after that actor has taken it, so a call made after the hook has
//! returned finds the words in the history.

use actix::{Message, Recipient};
use tokio::sync::mpsc::Receiver;

use crate::provenance::Origin;
use crate::transport::Delivery;

/// The user has said something. Answered once it is part of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPrompt {
    /// The text as the client gave it, at most 256 KiB.
    pub text: String,
    /// Whether the user typed it, as far as its sender could be checked.
    pub origin: Origin,
}

impl Message for UserPrompt {
    type Result = ();
}

/// Hands the prompts on in their order. Ends when the socket is closed or the actor is gone: a
/// prompt that is not stored is not acknowledged, and what it names stays unproven.
pub async fn relay_prompts(mut deliveries: Receiver<Delivery>, to: Recipient<UserPrompt>) {
    while let Some(delivery) = deliveries.recv().await {
        let prompt = UserPrompt { text: delivery.prompt.text.clone(), origin: delivery.prompt.origin };
        if to.send(prompt).await.is_err() {
            return;
        }
        delivery.stored();
    }
}
