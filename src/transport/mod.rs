//! Bytes in and out: stdio framing and child processes.

mod prompts;

pub use prompts::{Delivery, Prompt, PromptSocket, send as send_prompt};
