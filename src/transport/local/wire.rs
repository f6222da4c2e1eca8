//! What travels over the prompt socket: one line of JSON to the Bouncer, one word back.

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::provenance::Origin;

/// Longest prompt that is handed over, in bytes; the rest of a longer one is left out.
pub(super) const PROMPT: usize = 256 * 1024;
/// Longest line, in bytes: a prompt of control characters grows sixfold in JSON.
pub(super) const LINE: u64 = 6 * 256 * 1024 + 4096;
/// The answer when the words were taken as the user's own.
pub(super) const TYPED: &[u8] = b"typed\n";
/// The answer when they were taken as pasted.
pub(super) const PASTED: &[u8] = b"pasted\n";

/// A prompt as a hook hands it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The text, as the client gave it.
    pub text: String,
    /// Whether the client says that the user typed it.
    pub origin: Origin,
}

/// A prompt on its way into the history.
#[derive(Debug)]
pub struct Delivery {
    /// The prompt; its origin has been checked.
    pub prompt: Prompt,
    /// To be called once the prompt is stored: the hook waits for it.
    pub(super) stored: oneshot::Sender<()>,
}

impl Delivery {
    /// Tells the hook that a call made from now on will find the words in the history.
    pub fn stored(self) {
        // A hook that has given up waiting is no loss.
        let _ = self.stored.send(());
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    v: u8,
    pasted: bool,
    text: String,
}

impl Prompt {
    /// The prompt as a line, cut to its longest length.
    pub(super) fn to_line(&self) -> Vec<u8> {
        let mut end = self.text.len().min(PROMPT);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let text = self.text.get(..end).unwrap_or_default().to_owned();
        let line = Line { v: 1, pasted: self.origin == Origin::Pasted, text };
        let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Reads a line; `None` for anything that no hook of this version writes.
    pub(super) fn from_line(line: &[u8]) -> Option<Self> {
        let line: Line = serde_json::from_slice(line).ok()?;
        let origin = if line.pasted { Origin::Pasted } else { Origin::Typed };
        (line.v == 1).then_some(Self { text: line.text, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip_and_stay_short() {
        for (text, origin) in [("a\nb\u{1}é", Origin::Typed), ("", Origin::Pasted)] {
            let prompt = Prompt { text: text.to_owned(), origin };
            assert_eq!(Prompt::from_line(&prompt.to_line()), Some(prompt));
        }
        let long = Prompt { text: "\u{1}é".repeat(PROMPT), origin: Origin::Typed };
        assert!(long.to_line().len() as u64 <= LINE);
        assert_eq!(Prompt::from_line(b"{\"v\":2,\"pasted\":false,\"text\":\"\"}\n"), None);
        assert_eq!(Prompt::from_line(b"x"), None);
    }
}
