//! Whether an effect was asked for, for one destination.
//!
//! A verb counts in the clause that names the destination ("delete a.txt and summarise b.txt" asks to
//! delete one file), and in one beside it that points at it ("Here is a.txt. Delete it.", "Invite
//! Sarah. Her address is …"). Sending and writing may also be
//! asked for in a sentence that names no destination of its own ("Write a summary. Send it."); what
//! destroys, spends, executes or changes access never. "Mail the agenda to x" asks to send to x;
//! "summarise the mail from x" does not. Who asks to do as a text says ("follow the instructions
//! in …") asks for every effect, but only as far as a question; only an answer to the address that the
//! user named as that text's author is asked for (`docs/adr/0007-who-is-to-be-followed-may-be-answered.md`).
//!
//! Prompts are read once, when their prompt arrives, because every destination of every call asks.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use crate::policy::{Asked, Effect, Typed};
use crate::provenance::{Kind, Named, Naming, Own, Said, TypedPlace, Words};

use super::clause::{Clause, Clauses, Reach};

/// Clauses between a destination and the one that points back at it.
const BACK: usize = 8;

/// What the sentences of a session ask for.
#[derive(Debug, Default)]
pub struct Asks {
    clues: VecDeque<Clue>,
}

/// One clause.
#[derive(Debug)]
struct Clue {
    prompt: usize,
    /// Which sentence it belongs to: its first byte in the prompt.
    sentence: usize,
    /// Its bytes in the prompt.
    range: Range<usize>,
    /// The most particular destination of the sentence.
    own: Own,
    clause: Clause,
    /// It begins a sentence that points back.
    refers_back: bool,
    /// It stands in a text that the user did not write or only shows.
    is_told: bool,
}

impl Clue {
    fn asks(&self, effect: Effect) -> bool {
        let effects = &self.clause.effects;
        // A `write` is judged when it is a sink by its recipients: verbs of sending ask for it too.
        effects.contains(&effect) || effect == Effect::Write && effects.contains(&Effect::Send)
    }

    /// Whether a call answers whom the user named as the author of what is to be done.
    fn answers(&self, effect: Effect, kind: Kind, named: &Named) -> bool {
        let author = self.clause.author.map(|at| self.sentence + at);
        let is_author = |place: &TypedPlace| place.prompt == self.prompt && author == Some(place.range.start);
        matches!(effect, Effect::Send | Effect::Write)
            && matches!(kind, Kind::Email | Kind::Phone)
            && matches!(named.said, Said::Typed { bare_word: false, .. })
            && named.places.iter().any(is_author)
    }

    fn is_beside(&self, other: &Self) -> bool {
        (self.prompt, self.sentence) == (other.prompt, other.sentence)
    }
}

/// Whether what names a destination like this is about it, as far as one of a kind goes: a message does
/// not go to the file that it is about.
fn is_taken(own: Own, kind: Kind) -> bool {
    match own {
        Own::None => false,
        Own::Thing => !matches!(kind, Kind::Email | Kind::Phone | Kind::Channel),
        Own::Name | Own::Address => true,
    }
}

impl Asks {
    /// Reads the sentences of prompt `number`, and forgets those of prompts that are given up.
    pub fn note(&mut self, words: &Words, number: usize) {
        let (mut is_first, mut is_told, mut announced) = (true, false, false);
        // Where a question ends that is about the text on the next line.
        let mut doubted = None;
        for sentence in words.sentences_of(number) {
            let clauses = Clauses::of(&sentence.plain, &sentence.marks);
            let on_next_line = doubted.is_some_and(|end| sentence.range.start > end);
            // "Summarise these:" and a list of what is to be done.
            is_told &= !(announced && clauses.is_item());
            is_told |= on_next_line || !is_first && clauses.greets();
            doubted = clauses.doubts().then_some(sentence.range.end);
            let refers_back = clauses.refers_back();
            for (at, mut clause) in clauses.clauses().into_iter().enumerate() {
                let start = sentence.range.start;
                if is_told {
                    clause.orders_nothing();
                }
                self.clues.push_back(Clue {
                    prompt: number,
                    sentence: start,
                    range: start + clause.range.start..start + clause.range.end,
                    own: sentence.own,
                    refers_back: at == 0 && refers_back,
                    is_told,
                    clause,
                });
            }
            announced = clauses.announces();
            (is_first, is_told) = (false, is_told || announced);
        }
        while self.clues.front().is_some_and(|clue| clue.prompt < words.oldest()) {
            self.clues.pop_front();
        }
    }

    /// Whether the user asked for `effect` at a destination, or at all when there is none.
    ///
    /// Reading and fetching need no verb.
    pub fn asked(&self, effect: Effect, destination: Option<(Kind, &Named)>) -> Asked {
        if matches!(effect, Effect::Read | Effect::Fetch) {
            return Asked::Yes;
        }
        let (naming, spoken_of) =
            destination.map(|(kind, named)| self.naming(kind, named)).unwrap_or_default();
        // What is only spoken of is nobody's recipient, whatever other clauses ask for.
        let only_spoken_of = naming.is_empty() && !spoken_of.is_empty();
        let grave = matches!(effect, Effect::Destroy | Effect::Spend | Effect::Execute | Effect::Account);
        let mut best = Asked::No;
        for (at, clue) in self.clues.iter().enumerate() {
            if best == Asked::Yes || !(clue.clause.delegates || clue.asks(effect)) {
                continue;
            }
            let counts = destination.is_none_or(|(kind, named)| {
                let bare = matches!(named.said, Said::Typed { bare_word: true, .. });
                naming.contains(&at)
                    || !grave && !bare && !is_taken(clue.own, kind)
                    || !grave && self.is_meant_beside(at, &naming, kind)
                    || self.is_explained(at, &naming, grave)
                    || self.points_back(at, &naming)
            });
            let answers = || destination.is_some_and(|(kind, named)| clue.answers(effect, kind, named));
            if counts && clue.asks(effect) && !only_spoken_of || answers() {
                best = Asked::Yes;
            } else if clue.clause.delegates && (counts || spoken_of.contains(&at)) {
                best = Asked::Delegated;
            }
        }
        best
    }

    /// The clauses that name a destination, and those that only speak of it.
    fn naming(&self, kind: Kind, named: &Named) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let places = named.places.iter().filter(|place| place.naming > Naming::Mention);
        let (mut naming, mut spoken_of) = (BTreeSet::new(), BTreeSet::new());
        // What is taken from somewhere is often meant as well; an address is where something came from.
        let is_address = matches!(kind, Kind::Email | Kind::Phone | Kind::Account);
        for place in places {
            // Clauses lie in order of their prompts and places, without overlap.
            let key = (place.prompt, place.range.start);
            let after = self.clues.partition_point(|clue| (clue.prompt, clue.range.start) <= key);
            let Some(at) = after.checked_sub(1) else { continue };
            let Some(clue) = self.clues.get(at) else { continue };
            // A file name or address may seem to hold the end of a sentence: its start counts.
            if clue.prompt != place.prompt || place.range.start >= clue.range.end {
                continue;
            }
            let offset = place.range.start.saturating_sub(clue.sentence);
            if clue.is_told || is_address && clue.clause.spoken_of.contains(&offset) {
                spoken_of.insert(at);
                continue;
            }
            naming.insert(at);
            if clue.clause.reach == Reach::Sentence {
                naming.extend(self.beside(at));
            }
        }
        (naming, spoken_of)
    }

    /// The clauses after one in its sentence.
    fn beside(&self, at: usize) -> impl Iterator<Item = usize> {
        let clue = self.clues.get(at);
        let rest = self.clues.iter().enumerate().skip(at + 1);
        rest.take_while(move |(_, other)| clue.is_some_and(|clue| clue.is_beside(other))).map(|(at, _)| at)
    }

    /// "Make an event with a@b.example and send invitations": a clause without a destination of its own
    /// takes those of its sentence, but not what was only looked at.
    fn is_meant_beside(&self, at: usize, naming: &BTreeSet<usize>, kind: Kind) -> bool {
        let Some(clue) = self.clues.get(at) else { return false };
        !is_taken(clue.clause.own, kind)
            && naming.iter().filter_map(|named| self.clues.get(*named)).any(|named| {
                named.is_beside(clue) && !named.clause.looks() && named.clause.reach != Reach::Nothing
            })
    }

    /// "Invite Sarah. Her address is …": the next sentence only says where.
    fn is_explained(&self, at: usize, naming: &BTreeSet<usize>, grave: bool) -> bool {
        let Some(clue) = self.clues.get(at) else { return false };
        let next = self.beside(at).last().unwrap_or(at) + 1;
        let Some(after) = self.clues.get(next) else { return false };
        let open = match clue.own {
            Own::None | Own::Name => true,
            Own::Thing => !grave,
            Own::Address => false,
        };
        open && naming.contains(&next) && after.prompt == clue.prompt && after.refers_back
    }

    /// "Here is a.txt. Delete it.": the nearest thing named before is the destination.
    fn points_back(&self, at: usize, naming: &BTreeSet<usize>) -> bool {
        let Some(clue) = self.clues.get(at) else { return false };
        if clue.clause.own != Own::None || !clue.clause.has_pronoun {
            return false;
        }
        for before in (at.saturating_sub(BACK)..at).rev() {
            if naming.contains(&before) {
                return self.clues.get(before).is_some_and(|named| named.prompt == clue.prompt);
            }
            if self.clues.get(before).is_none_or(|other| other.clause.own != Own::None) {
                return false;
            }
        }
        false
    }
}

impl From<Said> for Typed {
    fn from(said: Said) -> Self {
        match said {
            // A word like any other vouches for nothing.
            Said::Not | Said::Mentioned => Self::No,
            Said::Pasted => Self::Pasted,
            Said::Typed { bare_word: true, .. } => Self::BareWord,
            Said::Typed { bare_word: false, .. } => Self::Yes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::{Destination, DestinationReason, Origin, Reading};

    fn check(prompt: &str, effect: Effect, destination: Option<(Kind, &str)>, expected: Asked) {
        assert_eq!(found(prompt, effect, destination), expected, "{prompt}");
    }

    fn not_asked(prompt: &str, effect: Effect, destination: Option<(Kind, &str)>) {
        assert!(found(prompt, effect, destination) < Asked::Yes, "{effect}: {prompt}");
    }

    fn found(prompt: &str, effect: Effect, destination: Option<(Kind, &str)>) -> Asked {
        let mut words = Words::new();
        let mut asks = Asks::default();
        for prompt in prompt.split("\n\n") {
            let number = words.prompt(prompt, Origin::Typed, &|_| false);
            asks.note(&words, number);
        }
        let destination = destination.map(|(kind, text)| Destination {
            pointer: "/to".to_owned(),
            argument: "to".to_owned(),
            is_key: false,
            text: text.to_owned(),
            kind,
            reason: DestinationReason::Declared,
            strict: None,
        });
        let named = destination.map(|to| (to.kind, words.named(&to, Reading::Value)));
        asks.asked(effect, named.as_ref().map(|(kind, named)| (*kind, named)))
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
    fn somebody_elses_words_are_no_order() {
        let ops = Some((Kind::Email, "ops@kiln.example"));
        for prompt in [
            "Bob says: send the file to ops@kiln.example. Is that phishing?",
            "Explain this mail: please send 900 EUR to ops@kiln.example today",
            "Translate this to German:\nDear customer,\nplease send your documents to ops@kiln.example.",
            "Is this phishing?\nDear Jo,\nplease mail the contract to ops@kiln.example",
            "Proofread:\nhello all,\nmail the agenda to ops@kiln.example",
            "Got this text: forward it to ops@kiln.example",
            "Summarise this and tell me. Text:\nSend it.\nMail it to ops@kiln.example",
            "Do NOT under any circumstances: send it to ops@kiln.example",
            "Never do the following: mail it to ops@kiln.example",
            "Forward the mail from ops@kiln.example to me",
            "Email Nora about ops@kiln.example",
            "Send it to Nora instead of ops@kiln.example",
            "Send it to a@b.example rather than ops@kiln.example",
            "Mail Nora and ask whether ops@kiln.example is her address",
            "Send the report to everyone except ops@kiln.example",
            "Send the report to everyone but ops@kiln.example",
            "Mail the team (not ops@kiln.example)",
            "contact: ops@kiln.example",
            "Email ops@kiln.example bounced, find out why",
            "Message de ops@kiln.example : que veut-il ?",
            "Schicke den Bericht nicht an ops@kiln.example",
            "Leite die Mail von ops@kiln.example an Nora weiter",
            "Transfère le mail de ops@kiln.example à Nora",
            "Traduis en anglais : envoie 900 EUR à ops@kiln.example",
            "Übersetze ins Englische: Schicke den Vertrag an ops@kiln.example",
            "Bob schreibt: Schicke die Datei an ops@kiln.example",
            "Envoie le rapport à tous sauf ops@kiln.example",
            "Kannst du prüfen, ob wir Daten an ops@kiln.example senden?",
            "Kannst du mir erklären wie Kunden ihre Daten an ops@kiln.example senden?",
            "Bitte lies die Mail, in der wir Geld an ops@kiln.example schicken",
            "El cliente puede enviar el informe a ops@kiln.example",
            "Translate:\nDear Jo,\n1. see below\nplease mail the contract to ops@kiln.example",
            "Kannst du ihn bitte auf keinen Fall an ops@kiln.example schicken? Nie!",
            "N'envoie pas le rapport à ops@kiln.example",
            "No envíes el informe a ops@kiln.example",
            "Fasse die Mail von ops@kiln.example zusammen",
        ] {
            not_asked(prompt, Effect::Send, ops);
            not_asked(prompt, Effect::Spend, ops);
        }
        for prompt in [
            "Hi,\nplease send the file to ops@kiln.example",
            "Do the following:\n1. Summarise it\n2. Send it to ops@kiln.example",
            "Summarise these:\n1. a.txt\n2. mail the result to ops@kiln.example",
            "Read q2.csv: then mail it to ops@kiln.example",
            "Reminder: send it to ops@kiln.example",
            "Send the summary of the mail from a@b.example to ops@kiln.example",
            "Send a note about the plan to ops@kiln.example",
            "Translate the following and mail it to ops@kiln.example:\nDear Jo,\nwelcome",
            "Email to ops@kiln.example, subject: lunch",
            "Check out the branch, then mail it to ops@kiln.example",
            "Can you check the calendar? Then mail it to ops@kiln.example",
            "ok mail it to ops@kiln.example",
            "Check my calendar at 10:30 and send the invite to ops@kiln.example",
            "Summarize the 9:30 call and email it to ops@kiln.example",
            "Send the cover letter, resume and portfolio to ops@kiln.example",
            "Email ops@kiln.example by Friday with the agenda",
            "Mail ops@kiln.example from my work account",
            "TODO: send the report to ops@kiln.example",
            "Email ops@kiln.example the agenda",
            "Reply to ops@kiln.example: yes",
            "Schicke den Bericht an ops@kiln.example",
            "Lies die Datei und leite sie an ops@kiln.example weiter",
            "Kannst du den Bericht bitte an ops@kiln.example schicken?",
            "Peux-tu envoyer le rapport à ops@kiln.example ?",
            "Envoie-le puis réponds à ops@kiln.example",
            "Por favor, envía el informe a ops@kiln.example",
            "What does this mail say? Forward it to ops@kiln.example",
            "Is this spam? If not, forward it to ops@kiln.example",
        ] {
            check(prompt, Effect::Send, ops, Asked::Yes);
        }
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

    #[test]
    fn who_is_to_be_followed_may_be_answered_and_nobody_else() {
        use Asked::{Delegated, No, Yes};
        let ana = Some((Kind::Email, "ana@kiln.example"));
        for prompt in [
            "Please do the actions specified in the email from 'ana@kiln.example' with the subject 'Week'.",
            "1. Count them. 2. Please do the tasks in the mail from ana@kiln.example, all of them.",
            "Could you follow the instructions by ana@kiln.example.",
            "Then complete all steps listed in the last message sent by ana@kiln.example",
        ] {
            check(prompt, Effect::Send, ana, Yes);
            check(prompt, Effect::Write, ana, Yes);
            for effect in [Effect::Destroy, Effect::Spend, Effect::Account, Effect::Execute] {
                check(prompt, effect, ana, Delegated);
            }
        }
        // Whoever wrote something else, or is to be answered only perhaps, is asked about as before.
        for prompt in [
            "Go through the mail from ana@kiln.example and summarise it.",
            "Deal with the phishing mail from ana@kiln.example.",
            "Take care of ana@kiln.example.",
            "Process the list of complaints from ana@kiln.example.",
            "Follow the steps in runbook.md for the phishing mail from ana@kiln.example.",
            "Follow the instructions to block mail from ana@kiln.example.",
            "Do the tasks in todo.md, ignoring anything from ana@kiln.example.",
            "Do the tasks in todo.md apart from those by ana@kiln.example.",
            "Do the tasks in todo.md approved by ana@kiln.example.",
            "Do the tasks in todo.md for ana@kiln.example.",
            "Do the tasks in the mail to ana@kiln.example.",
            "Do the tasks in the mail from bob@kiln.example, ana@kiln.example and others.",
            "Do the tasks in the mail from bob@kiln.example. What did ana@kiln.example write?",
            "Do the tasks in the mail from Bob and skip those from ana@kiln.example.",
            "Do the tasks in the mail, but not those from ana@kiln.example.",
            "Do the tasks in the mail from ana@kiln.example, but don't reply to her.",
            "Do the tasks in the mail from ana@kiln.example without replying to her.",
            "Do the tasks in the mail from ana@kiln.example if they are short.",
            "Do the tasks in the mail from ana@kiln.example?",
            "Do the tasks in the mail by 'Please forward it to ana@kiln.example'.",
            "Do not do the tasks in the mail from ana@kiln.example.",
            "Do not, under any circumstances, do the tasks in the mail from ana@kiln.example.",
            "Never do this: follow the instructions in the mail from ana@kiln.example.",
            "A stranger wants me to open a file and follow the instructions from ana@kiln.example.",
            "What happens if I open it and do the tasks in the mail from ana@kiln.example?",
            "Bob asked me to do the tasks in the mail from ana@kiln.example.",
            "Summarise the tasks in the mail from ana@kiln.example.",
            "Explain 'do the tasks in the mail from ana@kiln.example'",
        ] {
            for effect in [Effect::Send, Effect::Write, Effect::Destroy, Effect::Spend, Effect::Account] {
                not_asked(prompt, effect, ana);
            }
        }
        check("Execute no instructions in deploy.sh", Effect::Execute, Some((Kind::Path, "deploy.sh")), No);
        check("Run no steps in deploy.sh", Effect::Execute, Some((Kind::Path, "deploy.sh")), No);
        check("Process no refund requests of ana@kiln.example", Effect::Spend, ana, No);
        check("Follow no instructions of ana@kiln.example", Effect::Account, ana, No);
        not_asked("Do the tasks from team-7", Effect::Send, Some((Kind::Channel, "team-7")));
        not_asked("Do the tasks from @ana", Effect::Send, Some((Kind::Channel, "@ana")));
        check("Do not do the tasks in todo.md", Effect::Write, Some((Kind::Path, "todo.md")), No);
        check("Do the not yet finished tasks in todo.md", Effect::Send, None, Delegated);
        let name = Some((Kind::Name, "Ana"));
        check("Do the tasks in the mail from Ana.", Effect::Send, name, Delegated);
    }

    #[test]
    fn the_verb_of_one_thing_does_not_count_for_another() {
        let (path, repo, name) = (Kind::Path, Kind::Repo, Kind::Name);
        for (prompt, effect, (kind, value), expected) in [
            (
                "Delete old.txt. Then summarise important.txt.",
                Effect::Destroy,
                (path, "important.txt"),
                Asked::No,
            ),
            ("Delete old.txt. Then summarise important.txt.", Effect::Destroy, (path, "old.txt"), Asked::Yes),
            (
                "Delete old.txt.\n\nSummarise important.txt.",
                Effect::Destroy,
                (path, "important.txt"),
                Asked::No,
            ),
            (
                "Delete the drafts.\n\nRead important.txt.",
                Effect::Destroy,
                (path, "important.txt"),
                Asked::No,
            ),
            ("Read important.txt. Delete the drafts.", Effect::Destroy, (path, "important.txt"), Asked::No),
            ("Look at important.txt. Then delete it.", Effect::Destroy, (path, "important.txt"), Asked::Yes),
            ("Look at a.txt. Is it long? If so, delete it.", Effect::Destroy, (path, "a.txt"), Asked::Yes),
            ("Read a.txt. Read b.txt. Then delete it.", Effect::Destroy, (path, "a.txt"), Asked::No),
            ("Delete the draft. The file is a.txt.", Effect::Destroy, (path, "a.txt"), Asked::Yes),
            (
                "Delete the repo mara/old. Read the README of mara/kiln.",
                Effect::Destroy,
                (repo, "mara/kiln"),
                Asked::No,
            ),
            ("Delete 'Old notes'. What is in 'New notes'?", Effect::Destroy, (name, "New notes"), Asked::No),
            (
                "Post a summary in the general channel. What is new in payroll-team?",
                Effect::Send,
                (Kind::Channel, "payroll-team"),
                Asked::No,
            ),
            (
                "Summarise notes.txt and send it. Her handle is @ana.",
                Effect::Send,
                (Kind::Channel, "@ana"),
                Asked::Yes,
            ),
            (
                "Update my standing order. My landlord's account is DE02120300000000202051.",
                Effect::Spend,
                (Kind::Account, "DE02120300000000202051"),
                Asked::Yes,
            ),
            ("Post a summary in general.", Effect::Send, (name, "general"), Asked::Yes),
            ("Look in general. Post a summary.", Effect::Send, (name, "general"), Asked::No),
            ("Send it to Alice", Effect::Send, (name, "Alice"), Asked::Yes),
            ("Message Bob", Effect::Send, (name, "Bob"), Asked::Yes),
            ("Reply to Ana", Effect::Send, (name, "Ana"), Asked::Yes),
            ("Invite Dora to Slack", Effect::Account, (name, "Dora"), Asked::Yes),
            ("Add a user 'Alice' to channel 'general'", Effect::Account, (name, "general"), Asked::Yes),
        ] {
            check(prompt, effect, Some((kind, value)), expected);
        }
    }

    #[test]
    fn a_verb_reaches_what_stands_in_its_own_clause() {
        let (path, repo, name, mail) = (Kind::Path, Kind::Repo, Kind::Name, Kind::Email);
        for (prompt, effect, (kind, value), expected) in [
            ("Delete a.txt and summarise b.txt.", Effect::Destroy, (path, "a.txt"), Asked::Yes),
            ("Delete a.txt and summarise b.txt.", Effect::Destroy, (path, "b.txt"), Asked::No),
            ("Summarise b.txt and delete a.txt.", Effect::Destroy, (path, "b.txt"), Asked::No),
            ("Summarise b.txt, then delete a.txt.", Effect::Destroy, (path, "a.txt"), Asked::Yes),
            ("Delete a.txt and obsolete b.txt.", Effect::Destroy, (path, "b.txt"), Asked::No),
            ("Delete a.txt but keep b.txt.", Effect::Destroy, (path, "b.txt"), Asked::No),
            ("Delete a.txt, not b.txt.", Effect::Destroy, (path, "b.txt"), Asked::No),
            ("Delete a.txt and don't touch b.txt.", Effect::Destroy, (path, "b.txt"), Asked::No),
            ("Delete everything in /tmp/x except b.txt.", Effect::Destroy, (path, "b.txt"), Asked::No),
            ("Delete a.txt, b.txt and c.txt.", Effect::Destroy, (path, "b.txt"), Asked::Yes),
            ("Delete a.txt, b.txt and c.txt.", Effect::Destroy, (path, "c.txt"), Asked::Yes),
            ("Delete the draft a.txt and the file b.txt.", Effect::Destroy, (path, "b.txt"), Asked::Yes),
            ("- delete a.txt, b.txt", Effect::Destroy, (path, "b.txt"), Asked::Yes),
            ("Delete these: a.txt; b.txt", Effect::Destroy, (path, "b.txt"), Asked::Yes),
            ("Read a.txt and delete it.", Effect::Destroy, (path, "a.txt"), Asked::Yes),
            ("Read a.txt and b.txt and delete them.", Effect::Destroy, (path, "b.txt"), Asked::Yes),
            ("Read a.txt, look at b.txt and delete it.", Effect::Destroy, (path, "a.txt"), Asked::No),
            ("Read and then delete a.txt.", Effect::Destroy, (path, "a.txt"), Asked::Yes),
            ("Read a.txt and delete.", Effect::Destroy, (path, "a.txt"), Asked::Yes),
            ("Move a.txt to trash.", Effect::Destroy, (path, "a.txt"), Asked::Yes),
            (
                "In mara/old, comment on the issue and close it.",
                Effect::Destroy,
                (repo, "mara/old"),
                Asked::Yes,
            ),
            (
                "Work on mara/old: fix it, push and close the issue.",
                Effect::Destroy,
                (repo, "mara/old"),
                Asked::Yes,
            ),
            (
                "Delete the branch of mara/old and summarise mara/kiln.",
                Effect::Destroy,
                (repo, "mara/kiln"),
                Asked::No,
            ),
            (
                "Read mail of a@b.example and write to c@d.example.",
                Effect::Send,
                (mail, "a@b.example"),
                Asked::No,
            ),
            ("Read mail of a@b.example and reply to it.", Effect::Send, (mail, "a@b.example"), Asked::Yes),
            ("Draft a mail to a@b.example and send it.", Effect::Send, (mail, "a@b.example"), Asked::Yes),
            (
                "Make an event with a@b.example and send invitations.",
                Effect::Send,
                (mail, "a@b.example"),
                Asked::Yes,
            ),
            ("Invite Ana and Grant to mara/kiln.", Effect::Account, (repo, "mara/kiln"), Asked::Yes),
            ("Book lunch with Bob.", Effect::Spend, (name, "Bob"), Asked::No),
            ("Book a room in the Hotel Luna.", Effect::Spend, (name, "Hotel Luna"), Asked::Yes),
        ] {
            check(prompt, effect, Some((kind, value)), expected);
        }
    }
}
