//! The imperatives of one sentence.
//!
//! An imperative is the first word of a clause: at the start, after punctuation or a bullet, or
//! after an opener ("and", "please", "can you", "to" …). What is denied ("do not send") or told of
//! others ("he asked me to send") opens nothing. A verb reaches what stands in its own clause, up to
//! the next verb: "delete a.txt, b.txt and summarise c.txt" asks to delete two files. This is no
//! grammar: it errs on the side of a question.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::policy::Effect;
use crate::provenance::{Own, is_thing_noun};

use super::verbs::{Pattern, Step, VERBS};

/// Words a gap in a pattern may take.
const GAP: usize = 12;
/// Words between the verb and the noun of a delegation.
const NEAR: usize = 4;
/// Words after the verb of such an order among which its noun stands.
const TASKS_NEAR: usize = 3;
/// Words of a sentence that are looked at; a longer one is no order.
const WORDS: usize = 400;

/// One word of a sentence, in lower case.
#[derive(Debug)]
struct Word {
    text: String,
    /// Where it begins in the sentence.
    at: usize,
    /// Whether it was written with a capital.
    capital: bool,
    /// What stands between the word before and this one.
    before: Break,
}

/// What parts two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Break {
    /// White space.
    None,
    /// A comma.
    Comma,
    /// A colon.
    Colon,
    /// The start of the sentence, a semicolon, bracket, dash or bullet.
    Full,
}

/// A clause with a verb of its own, and all that follows up to the next one.
#[derive(Debug)]
pub(super) struct Clause {
    /// Its bytes in the sentence. The clauses of a sentence cover it in order.
    pub(super) range: Range<usize>,
    /// The most particular destination that stands in it.
    pub(super) own: Own,
    /// The effects that its verb asks for.
    pub(super) effects: Vec<Effect>,
    /// It asks to do as some text says.
    pub(super) delegates: bool,
    /// Where it then names, by an address, who wrote that text: "do the tasks in the mail from …".
    pub(super) author: Option<usize>,
    /// It holds a word for what was named before, or a verb without any object: "delete it", "and delete".
    pub(super) has_pronoun: bool,
    /// What it names its destinations for.
    pub(super) reach: Reach,
    /// Where the destinations begin in the sentence that it only speaks of: "the mail from x", "instead of x".
    pub(super) spoken_of: Vec<usize>,
}

/// How far what a clause names counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// For its own verb, and for a verb beside it that has no destination.
    Clause,
    /// It is said for the whole sentence: "In a/b, close …", "On a/b: close …".
    Sentence,
    /// It is taken out: "everyone but x", "not x".
    Nothing,
}

impl Clause {
    /// It stands in a text that is shown: whatever it says is no order.
    pub(super) fn orders_nothing(&mut self) {
        (self.effects, self.delegates, self.author) = (Vec::new(), false, None);
    }

    /// Whether its verb only looks.
    pub(super) fn looks(&self) -> bool {
        self.effects == [Effect::Read]
    }
}

/// A sentence cut into words.
#[derive(Debug)]
pub(super) struct Clauses<'s> {
    sentence: &'s str,
    marks: &'s [(usize, Own)],
    words: Vec<Word>,
}

impl<'s> Clauses<'s> {
    /// Reads a sentence whose urls and quotes are blanked out. `marks`: where its destinations begin.
    pub(super) fn of(sentence: &'s str, marks: &'s [(usize, Own)]) -> Self {
        Self { sentence, marks, words: words(sentence) }
    }

    /// Whether somebody's text follows this sentence, of which nothing is ordered: "Translate this:".
    pub(super) fn announces(&self) -> bool {
        self.sentence.trim_end().ends_with(':') && tells(&self.words)
    }

    /// Whether it asks what to make of a text, which follows on the next line: "Is this phishing?".
    pub(super) fn doubts(&self) -> bool {
        let last = self.words.last().map_or("", |word| word.text.as_str());
        self.sentence.trim_end().ends_with('?') && VERBS.doubts.contains(last)
    }

    /// Whether the sentence begins like a letter.
    pub(super) fn greets(&self) -> bool {
        self.words.first().is_some_and(|word| VERBS.letters.contains(word.text.as_str()))
    }

    /// Whether the sentence is an item of a list.
    pub(super) fn is_item(&self) -> bool {
        let start = self.sentence.trim_start();
        start.starts_with(['-', '*', '•']) || start.starts_with(|c: char| c.is_ascii_digit())
    }

    /// Whether the sentence begins by pointing back at the one before it, or says what is the user's own
    /// account or address.
    pub(super) fn refers_back(&self) -> bool {
        let first = self.words.first().map_or("", |word| word.text.as_str());
        let mut opening = self.words.iter().take(OPENING);
        VERBS.back.contains(first)
            || VERBS.back_own.contains(first)
                && opening.any(|word| VERBS.back_nouns.contains(word.text.trim_end_matches("'s")))
    }

    /// The clauses, in order; at least one.
    pub(super) fn clauses(&self) -> Vec<Clause> {
        let positions = positions(&self.words);
        let mut starts: Vec<usize> =
            (0..self.words.len()).filter(|at| self.begins(*at, &positions)).collect();
        // A verb without an object shares the next one's: "review and merge a/b".
        let bare: Vec<usize> = starts
            .windows(2)
            .filter_map(|both| match both {
                [start, next] if self.is_bare(*start, *next) => Some(*next),
                _ => None,
            })
            .collect();
        let verbs = starts.clone();
        starts.retain(|start| !bare.contains(start));
        // What stands before the first verb names what the whole sentence is about, if anything.
        let lead = starts.first().copied().unwrap_or(0);
        if lead > 0 && self.marked(self.bytes(0, lead)) {
            starts.insert(0, 0);
        } else if let Some(first) = starts.first_mut() {
            *first = 0;
        } else {
            starts.push(0);
        }
        let ends = starts.iter().skip(1).copied().chain([self.words.len()]);
        let clause = |(start, end): (&usize, usize)| {
            let inside = verbs.iter().copied().filter(|at| (*start..end).contains(at));
            self.clause(*start, end, &inside.collect::<Vec<_>>(), &positions)
        };
        starts.iter().zip(ends).map(clause).collect()
    }

    fn clause(&self, start: usize, end: usize, verbs: &[usize], positions: &[Position]) -> Clause {
        let range = self.bytes(start, end);
        let ordered = |at: &&usize| {
            // "Execute no instructions": what is denied right behind its verb is no order either.
            let next = self.words.get(**at + 1).map_or("", |word| word.text.as_str());
            let behind = self.words.get(**at..end).unwrap_or_default();
            !VERBS.negations.contains(next)
                && !behind.iter().any(|word| VERBS.denies.contains(word.text.as_str()))
                && positions.iter().any(|position| position.at == **at && position.ordered)
        };
        let orders = || verbs.iter().filter(ordered).map(|at| self.words.get(*at..end).unwrap_or_default());
        let asks = |patterns: &[Pattern]| {
            // One that delegates asks for nothing of its own: "follow the instructions" is not "follow".
            orders()
                .filter(|rest| !is_noun(rest) && !delegates(rest))
                .map(within_its_sentence)
                .any(|rest| patterns.iter().any(|pattern| matches(rest, pattern, GAP)))
        };
        let words = self.words.get(start..end).unwrap_or_default();
        let objectless = verbs.last().is_some_and(|last| self.is_bare(*last, end));
        let text = self.sentence.get(range.clone()).unwrap_or_default();
        let colon = text.find(": ").map(|at| range.start..range.start + at);
        let marks = || self.marks.iter().filter(|(at, _)| range.contains(at));
        let own = marks().map(|(_, own)| *own).max();
        Clause {
            own: own.unwrap_or(Own::None),
            effects: VERBS.effects.iter().filter(|(_, list)| asks(list)).map(|(effect, _)| *effect).collect(),
            delegates: orders().any(|rest| !is_noun(rest) && delegates(rest)),
            author: verbs.iter().filter(ordered).find_map(|at| self.author(*at)),
            has_pronoun: objectless || words.iter().any(|word| VERBS.pronouns.contains(word.text.as_str())),
            spoken_of: marks().map(|(at, _)| *at).filter(|at| self.is_spoken_of(*at)).collect(),
            reach: match words.first().map_or("", |word| word.text.as_str()) {
                word if VERBS.except.contains(word) || VERBS.negations.contains(word) => Reach::Nothing,
                _ if verbs.is_empty() && end < self.words.len() => Reach::Sentence,
                _ if colon.is_some_and(|part| self.marked(part)) => Reach::Sentence,
                _ => Reach::Clause,
            },
            range,
        }
    }

    /// Whether a verb of its own, or what takes something out again, begins at a word.
    fn begins(&self, at: usize, positions: &[Position]) -> bool {
        let Some(rest) = self.words.get(at..) else { return false };
        let Some((word, after)) = rest.split_first() else { return false };
        let text = word.text.as_str();
        if VERBS.except.contains(text) {
            return true;
        }
        if !positions.iter().any(|position| position.at == at) {
            return false;
        }
        if VERBS.negations.contains(text) {
            return true;
        }
        let next = after.first().filter(|next| next.before == Break::None);
        let before = at.checked_sub(1).and_then(|before| self.words.get(before));
        let towards = before.is_some_and(|before| before.text == "to") && word.before == Break::None;
        if VERBS.starts.contains(text) {
            let name = at > 0 && word.capital && next.is_none();
            // "comment 9" is a thing, "transfer 9" is not.
            let numbered = next.is_some_and(|next| next.text.chars().all(|c| c.is_ascii_digit()))
                && is_thing_noun(text)
                && !VERBS.pays.contains(text);
            return !(name || numbered || towards && next.is_none() || is_noun(rest));
        }
        // An unknown word right before a destination may be a verb as well: "and obsolete b.txt".
        let plain = text.chars().all(char::is_alphabetic) && !word.capital && !text.ends_with("ing");
        plain
            && !towards
            && !VERBS.small.contains(text)
            && !VERBS.fillers.contains(text)
            && !is_thing_noun(text)
            && next.is_some_and(|next| self.marked(next.at..next.at + 1))
    }

    /// Where the address of an author begins, in a plain order to do what the author asks: "please do the
    /// actions specified in the email from …". It vouches, so it is read by the letter: nothing else may stand
    /// before the order, between its words or right before the address, and nothing in the sentence may take
    /// it back or make a question of it.
    fn author(&self, verb: usize) -> Option<usize> {
        let verbs = &*VERBS;
        let is = |set: &BTreeSet<&str>, word: &Word| set.contains(word.text.as_str());
        let before = self.words.get(..verb).unwrap_or_default();
        let polite = |word: &Word| is(&verbs.polite, word) || word.text.chars().all(|c| c.is_ascii_digit());
        let denied =
            |word: &Word| is(&verbs.negations, word) || is(&verbs.except, word) || is(&verbs.unless, word);
        if !before.iter().all(polite)
            || self.words.iter().any(denied)
            || self.sentence.trim_end().ends_with('?')
        {
            return None;
        }
        let (order, rest) = self.words.get(verb..)?.split_first()?;
        let noun = rest.iter().take(TASKS_NEAR).position(|word| is(&verbs.tasks, word))?;
        let mut after = rest.get(noun + 1..)?.iter().skip_while(|word| is(&verbs.tasks_in, word));
        let from = after.next().filter(|word| is(&verbs.do_tasks, order) && is(&verbs.authors, word))?;
        let end = from.at + from.text.len();
        let (at, _) = self.marks.iter().find(|(at, own)| *at >= end && *own == Own::Address)?;
        // A quotation mark at most.
        (self.sentence.get(end..*at)?.trim().chars().count() <= 1).then_some(*at)
    }

    /// Whether nothing follows a verb up to `end` but words that lead to another verb.
    fn is_bare(&self, verb: usize, end: usize) -> bool {
        let rest = self.words.get(verb + 1..end).unwrap_or_default();
        rest.iter().all(|word| {
            let text = word.text.as_str();
            VERBS.fillers.contains(text) || VERBS.openers.iter().any(|opener| opener.as_slice() == [text])
        })
    }

    /// Whether the destination that begins here stands behind a word by which it is only spoken of.
    fn is_spoken_of(&self, mark: usize) -> bool {
        let before = self.words.partition_point(|word| word.at < mark);
        let word = |back: usize| {
            before.checked_sub(back).and_then(|at| self.words.get(at)).map(|it| it.text.as_str())
        };
        let last = word(1).unwrap_or_default();
        VERBS.spoken_of.contains(last) || last == "of" && word(2) == Some("instead")
    }

    fn marked(&self, range: Range<usize>) -> bool {
        self.marks.iter().any(|(at, _)| range.contains(at))
    }

    /// The bytes from one word up to another, the first and last with what stands around them.
    fn bytes(&self, start: usize, end: usize) -> Range<usize> {
        let at = |word: usize| self.words.get(word).map_or(self.sentence.len(), |word| word.at);
        (if start == 0 { 0 } else { at(start) })..at(end)
    }
}

/// Words of a statement in which its noun is looked for.
const OPENING: usize = 6;

fn words(sentence: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut before = Break::Full;
    let mut characters = sentence.char_indices().peekable();
    let mut current = String::new();
    let mut start = (0, false);
    let mut last = ' ';
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map_or(' ', |(_, c)| *c);
        let c = if c == '’' { '\'' } else { c };
        let inner = matches!(c, '\'' | '-' | '.') && !current.is_empty() && next.is_alphanumeric();
        if c.is_alphanumeric() || c == '\u{1}' || c == '_' || inner {
            if current.is_empty() {
                start = (at, c.is_uppercase());
            }
            // Blanked text is one word, however long it was.
            if c != '\u{1}' || last != '\u{1}' {
                current.extend(c.to_lowercase());
            }
        } else {
            if !current.is_empty() {
                words.push(Word {
                    text: std::mem::take(&mut current),
                    at: start.0,
                    capital: start.1,
                    before,
                });
                before = Break::None;
            }
            let dash = c == '-' && (last.is_whitespace() || last == '-');
            before = before.max(match c {
                ',' | '、' | '，' => Break::Comma,
                '&' if next.is_whitespace() => Break::Comma,
                ':' if next.is_whitespace() => Break::Colon,
                '.' | '!' | '?' | ':' | ';' | '(' | ')' | '[' | ']' | '—' | '–' | '•' | '*' | '…' | '\n'
                | '→' => Break::Full,
                _ if dash => Break::Full,
                _ => Break::None,
            });
        }
        last = c;
        if words.len() >= WORDS {
            return words;
        }
    }
    if !current.is_empty() {
        words.push(Word { text: current, at: start.0, capital: start.1, before });
    }
    words
}

/// A word in imperative position.
#[derive(Debug, Clone, Copy)]
struct Position {
    at: usize,
    /// Whether it is not denied there.
    ordered: bool,
}

fn positions(words: &[Word]) -> Vec<Position> {
    let verbs = &*VERBS;
    let mut found = Vec::new();
    let mut negated = false;
    let mut filled = false;
    let told = told_from(words);
    for (index, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        let later_or = || {
            words
                .iter()
                .skip(index)
                .take_while(|word| word.before < Break::Colon)
                .any(|word| matches!(word.text.as_str(), "or" | "nor"))
        };
        match word.before {
            Break::Full => negated = false,
            // "do not send, mail or post it": the list goes on.
            Break::Comma => negated &= later_or(),
            // "Never do the following: send it": what is denied before a colon is denied behind it.
            Break::Colon | Break::None => {}
        }
        if verbs.contrast.contains(text) || verbs.affirms.contains(text) {
            negated = false;
        }
        let head = word.before != Break::None || filled || opened(words, index);
        if head {
            found.push(Position { at: index, ordered: !negated && index < told });
        }
        // A filler passes the position on to the next word.
        filled = head && verbs.fillers.contains(text);
        negated |= verbs.negations.contains(text);
    }
    found
}

/// Where somebody's text begins in a sentence: behind the colon of "Bob says: …" or "Translate: …".
fn told_from(words: &[Word]) -> usize {
    let colon = words
        .iter()
        .enumerate()
        .skip(1)
        .find(|(at, word)| word.before == Break::Colon && tells(words.get(..*at).unwrap_or_default()));
    colon.map_or(words.len(), |(at, _)| at)
}

/// Whether a text follows these words and a colon that is not the user's own.
fn tells(before: &[Word]) -> bool {
    let verbs = &*VERBS;
    let first = before.iter().find(|word| !verbs.polite.contains(word.text.as_str()));
    let reminds = matches!(before, [word] if verbs.reminders.contains(word.text.as_str()));
    !reminds && before.last().is_some_and(|word| verbs.tells.contains(word.text.as_str()))
        || first.is_some_and(|word| verbs.looks.contains(word.text.as_str()))
}

/// Whether an opener ends right before the word.
fn opened(words: &[Word], index: usize) -> bool {
    let before = words.get(..index).unwrap_or_default();
    VERBS.openers.iter().any(|opener| {
        let Some(start) = before.len().checked_sub(opener.len()) else { return false };
        let tail = before.get(start..).unwrap_or_default();
        let same = tail.iter().zip(opener).all(|(word, opener)| word.text == *opener);
        same && !(opener.as_slice() == ["to"] && is_reported(before.get(..start).unwrap_or_default()))
    })
}

/// Whether "to" after these words tells of a way or of somebody's wish.
fn is_reported(before: &[Word]) -> bool {
    let mut back = before.iter().rev().map(|word| word.text.as_str());
    let last = back.next().unwrap_or_default();
    let verbs = &*VERBS;
    verbs.reported.contains(last)
        || verbs.persons.contains(last) && back.next().is_some_and(|word| verbs.reported.contains(word))
}

/// "Mail from Ana", "order of": a noun in the place of a verb. "Tell me": told to the user.
fn is_noun(rest: &[Word]) -> bool {
    let word = |at: usize| rest.get(at).map_or("", |word| word.text.as_str());
    // "contact: x" is a label, and in "email x bounced" it is the email that did.
    let labels = rest.get(1).is_some_and(|word| word.before == Break::Colon);
    let bounced = word(1) == "\u{1}" && VERBS.happened.contains(word(2));
    VERBS.nounish.contains(word(0)) && (labels || bounced || VERBS.nounish_after.contains(word(1)))
        || VERBS.inward.contains(word(0)) && VERBS.inward_after.contains(word(1))
}

/// What a verb at the end of the sentence can belong to: "Kannst du prüfen, ob wir es schicken?" asks to look.
fn within_its_sentence(rest: &[Word]) -> &[Word] {
    if !rest.first().is_some_and(|word| VERBS.modals.contains(word.text.as_str())) {
        return rest;
    }
    let ends = |word: &Word| word.before >= Break::Comma || VERBS.breaks.contains(word.text.as_str());
    let end = rest.iter().skip(1).position(ends).map_or(rest.len(), |at| at + 1);
    rest.get(..end).unwrap_or_default()
}

fn delegates(rest: &[Word]) -> bool {
    VERBS.delegate.iter().any(|pattern| matches(rest, pattern, NEAR))
}

fn matches(words: &[Word], pattern: &[Step], gap: usize) -> bool {
    match pattern {
        [] => true,
        [Step::Word(options), rest @ ..] => words
            .split_first()
            .is_some_and(|(word, words)| options.contains(&word.text.as_str()) && matches(words, rest, gap)),
        // A pattern holds one gap, so this is linear.
        [Step::Gap, rest @ ..] => {
            (0..=gap.min(words.len())).any(|skip| matches(words.get(skip..).unwrap_or_default(), rest, gap))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sentence: &str, effect: Effect, expected: bool) {
        let clauses = Clauses::of(sentence, &[]).clauses();
        assert_eq!(clauses.iter().any(|clause| clause.effects.contains(&effect)), expected, "{sentence}");
    }

    #[test]
    fn imperatives_stand_first_in_their_clause() {
        for (sentence, expected) in [
            ("Mail the agenda to Bob", true),
            ("Read it and mail it", true),
            ("Could you please also send it?", true),
            ("I'd like you to send it", true),
            ("- post it", true),
            ("2) post it", true),
            ("If it is fine, then post it", true),
            ("Triage it and let \u{1}\u{1}\u{1} know", true),
            ("Don't forget to mail it", true),
            ("Summarise the mail from Bob", false),
            ("Mail from Bob: what does it say?", false),
            ("What did I send?", false),
            ("Do not send it", false),
            ("Do not read or mail it", false),
            ("Do not read, mail or post it", false),
            ("Please never mail it", false),
            ("Do not read it, but mail it", true),
            ("The page asks me to send it", false),
            ("Tell me what it says", false),
            ("I need to send it", true),
            ("Find the link to post it", false),
            ("Explain how to send it", false),
            ("He said \u{1}\u{1}", false),
        ] {
            check(sentence, Effect::Send, expected);
        }
        check("Run the monthly rent transfer", Effect::Spend, true);
        check("Close issue 212", Effect::Destroy, true);
        check("How many users do we have?", Effect::Destroy, false);
        check("Invite Dora to Slack", Effect::Account, true);
    }
}
