//! Whether an effect was asked for, for one destination.
//!
//! A verb counts in the sentence that names the destination, and in one that names no destination
//! of its own ("Write a summary. Send it to Ana."). "Mail the agenda to x" asks to send to x;
//! "summarise the mail from x" does not. Who asks to do as a text says ("follow the instructions
//! in …") asks for every effect, but only as far as a question.

use crate::policy::{Asked, Effect, Typed};
use crate::provenance::{Destination, Own, Said, Sentence, Words};

use super::clause::{self, Clauses};
use super::verbs::VERBS;

/// Whether the user asked for `effect` at `destination`, or at all when there is none.
///
/// Reading and fetching need no verb. A `write` is here when it is a sink by its recipients (a draft,
/// a guest): verbs of sending ask for it too.
pub fn asked(words: &Words, effect: Effect, destination: Option<&Destination>) -> Asked {
    if matches!(effect, Effect::Read | Effect::Fetch) {
        return Asked::Yes;
    }
    let places = destination.map(|destination| words.places(destination)).unwrap_or_default();
    let patterns = |effect| VERBS.effects.get(&effect).map(Vec::as_slice).unwrap_or_default();
    let mut best = Asked::No;
    let sentences: Vec<(usize, &Sentence)> = words.sentences().collect();
    let names = |at: usize| {
        sentences.get(at).is_some_and(|(prompt, sentence)| {
            places.iter().any(|(number, range)| {
                number == prompt && sentence.range.start <= range.start && range.end <= sentence.range.end
            })
        })
    };
    for (at, (prompt, sentence)) in sentences.iter().enumerate() {
        // "Invite Sarah. Her address is …": the next sentence only says where.
        let explained = || {
            let next = sentences.get(at + 1).filter(|(number, _)| number == prompt);
            sentence.own == Own::Name
                && names(at + 1)
                && next.is_some_and(|(_, next)| clause::refers_back(&next.plain))
        };
        if destination.is_some() && sentence.own != Own::None && !names(at) && !explained() {
            continue;
        }
        let clauses = Clauses::of(&sentence.plain);
        if clauses.ask(patterns(effect)) || effect == Effect::Write && clauses.ask(patterns(Effect::Send)) {
            return Asked::Yes;
        }
        if clauses.delegate() {
            best = Asked::Delegated;
        }
    }
    best
}

impl From<Said> for Typed {
    fn from(said: Said) -> Self {
        match said {
            Said::Not => Self::No,
            Said::Pasted => Self::Pasted,
            Said::Typed { bare_word: true, .. } => Self::BareWord,
            Said::Typed { bare_word: false, .. } => Self::Yes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::{DestinationReason, Kind, Origin};

    fn check(prompt: &str, effect: Effect, destination: Option<(Kind, &str)>, expected: Asked) {
        let mut words = Words::new();
        words.prompt(prompt, Origin::Typed, &|_| false);
        let destination = destination.map(|(kind, text)| Destination {
            pointer: "/to".to_owned(),
            argument: "to".to_owned(),
            is_key: false,
            text: text.to_owned(),
            kind,
            reason: DestinationReason::Declared,
            strict: None,
        });
        assert_eq!(asked(&words, effect, destination.as_ref()), expected, "{prompt}");
    }

    #[test]
    fn the_verb_stands_with_the_destination_or_with_none() {
        let ops = Some((Kind::Email, "ops@kiln.example"));
        check("Mail the agenda to ops@kiln.example.", Effect::Send, ops, Asked::Yes);
        check("Summarise the mail from ops@kiln.example.", Effect::Send, ops, Asked::No);
        check("Write a summary. Send it. The address is ops@kiln.example.", Effect::Send, ops, Asked::Yes);
        check("Send it to a@b.example. What does ops@kiln.example say?", Effect::Send, ops, Asked::No);
        check("Send it to Bob. What does ops@kiln.example say?", Effect::Send, ops, Asked::No);
        let invite = "Create an event with Sarah, please. Her address is 'ops@kiln.example'.";
        check(invite, Effect::Send, ops, Asked::Yes);
        check("Create an event with Sarah. Read the mail of ops@kiln.example.", Effect::Send, ops, Asked::No);
        check("Mail it to a@b.example. Her address is ops@kiln.example.", Effect::Send, ops, Asked::No);
        check("Explain 'send it to ops@kiln.example'", Effect::Send, ops, Asked::No);
        check("Explain:\n> send it to ops@kiln.example", Effect::Send, ops, Asked::No);
        check("Mail the agenda to ops@kiln.example.", Effect::Destroy, ops, Asked::No);
        check("Mail the agenda to ops@kiln.example.", Effect::Write, ops, Asked::Yes);
    }

    #[test]
    fn delegations_ask_for_everything_but_only_so_far() {
        for prompt in [
            "Please do the actions specified in the email from 'david@x.example'.",
            "Do the tasks in todo.md",
            "Read the file and follow the instructions precisely.",
            "Perform the actions listed at https://a.example/x",
        ] {
            check(prompt, Effect::Send, None, Asked::Delegated);
            check(prompt, Effect::Destroy, None, Asked::Delegated);
            check(prompt, Effect::Account, None, Asked::Delegated);
        }
        check("Read todo.md", Effect::Send, None, Asked::No);
    }
}
