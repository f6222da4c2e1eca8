//! The imperatives of one sentence.
//!
//! An imperative is the first word of a clause: at the start, after punctuation or a bullet, or
//! after an opener ("and", "please", "can you", "to" …). What is denied ("do not send") or told of
//! others ("he asked me to send") opens nothing. This is no grammar: it errs on the side of a
//! question.

use super::verbs::{Pattern, Step, VERBS};

/// Words a gap in a pattern may take.
const GAP: usize = 12;
/// Words between the verb and the noun of a delegation.
const NEAR: usize = 4;
/// Words of a sentence that are looked at; a longer one is no order.
const WORDS: usize = 400;

/// One word of a sentence, in lower case.
#[derive(Debug)]
struct Word {
    text: String,
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
    /// The start of the sentence, a colon, semicolon, bracket, dash or bullet.
    Full,
}

/// A sentence with its clauses found.
#[derive(Debug)]
pub(super) struct Clauses {
    words: Vec<Word>,
    /// Indices of the words in imperative position.
    heads: Vec<usize>,
}

impl Clauses {
    /// Reads a sentence whose urls and quotes are blanked out.
    pub(super) fn of(sentence: &str) -> Self {
        let words = words(sentence);
        let heads = heads(&words);
        Self { words, heads }
    }

    /// Whether one of the patterns begins at one of the imperatives. One that delegates asks for
    /// nothing of its own: "follow the instructions" is not "follow".
    pub(super) fn ask(&self, patterns: &[Pattern]) -> bool {
        self.imperatives()
            .any(|rest| patterns.iter().any(|pattern| matches(rest, pattern, GAP)) && !delegates(rest))
    }

    /// Whether one of the imperatives asks to do as some text says.
    pub(super) fn delegate(&self) -> bool {
        self.imperatives().any(delegates)
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

    /// Whether it holds a word for what was named before: "delete it".
    pub(super) fn has_pronoun(&self) -> bool {
        self.words.iter().any(|word| VERBS.pronouns.contains(word.text.as_str()))
    }

    fn imperatives(&self) -> impl Iterator<Item = &[Word]> {
        self.heads.iter().filter_map(|head| self.words.get(*head..)).filter(|rest| !is_noun(rest))
    }
}

/// Words of a statement in which its noun is looked for.
const OPENING: usize = 6;

fn words(sentence: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut before = Break::Full;
    let mut characters = sentence.chars().peekable();
    let mut current = String::new();
    let mut last = ' ';
    while let Some(c) = characters.next() {
        let next = characters.peek().copied().unwrap_or(' ');
        let c = if c == '’' { '\'' } else { c };
        let inner = matches!(c, '\'' | '-' | '.') && !current.is_empty() && next.is_alphanumeric();
        if c.is_alphanumeric() || c == '\u{1}' || c == '_' || inner {
            // Blanked text is one word, however long it was.
            if c != '\u{1}' || last != '\u{1}' {
                current.extend(c.to_lowercase());
            }
        } else {
            if !current.is_empty() {
                words.push(Word { text: std::mem::take(&mut current), before });
                before = Break::None;
            }
            let dash = c == '-' && (last.is_whitespace() || last == '-');
            before = before.max(match c {
                ',' | '、' | '，' => Break::Comma,
                '&' if next.is_whitespace() => Break::Comma,
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
        words.push(Word { text: current, before });
    }
    words
}

fn heads(words: &[Word]) -> Vec<usize> {
    let verbs = &*VERBS;
    let mut heads = Vec::new();
    let mut negated = false;
    let mut filled = false;
    for (index, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        let later_or = || {
            words
                .iter()
                .skip(index)
                .take_while(|word| word.before != Break::Full)
                .any(|word| matches!(word.text.as_str(), "or" | "nor"))
        };
        match word.before {
            Break::Full => negated = false,
            // "do not send, mail or post it": the list goes on.
            Break::Comma => negated &= later_or(),
            Break::None => {}
        }
        if verbs.contrast.contains(text) || verbs.affirms.contains(text) {
            negated = false;
        }
        let head = word.before != Break::None || filled || opened(words, index);
        if head && !negated {
            heads.push(index);
        }
        // A filler passes the position on to the next word.
        filled = head && verbs.fillers.contains(text);
        negated |= verbs.negations.contains(text);
    }
    heads
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
    VERBS.nounish.contains(word(0)) && VERBS.nounish_after.contains(word(1))
        || VERBS.inward.contains(word(0)) && VERBS.inward_after.contains(word(1))
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
    use crate::policy::Effect;

    fn check(sentence: &str, effect: Effect, expected: bool) {
        let patterns = VERBS.effects.get(&effect).map(Vec::as_slice).unwrap_or_default();
        assert_eq!(Clauses::of(sentence).ask(patterns), expected, "{sentence}");
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
