//! What the client sent: values that a result merely repeats (echoes), values that it put into an upstream
//! (planted), and content that this upstream knows already.

use std::collections::BTreeSet;

use serde_json::Value;

use super::atoms::{self, Class};
use super::engine::{Engine, Sent, Vouched};
use super::fold::fold;
use super::grams;
use super::lookup::words_of;
use super::take::MOST_NAMES;
use super::{PlaceKind, decode};

/// Calls whose echoes are remembered.
const MOST_CALLS: usize = 64;
/// Phrases of a call that are looked for in its result one by one.
const FEW_PHRASES: usize = 16;
/// Planted values and samples that are remembered.
const MOST_PLANTED: usize = 1 << 18;

impl Engine {
    /// Notes what a call sends, before it is forwarded.
    ///
    /// What was untraced then and comes back in the result of the same call is an echo: that record makes it
    /// neither tainted nor trusted. Unless the call was vouched for, its values are planted at the upstream.
    pub fn sent(&mut self, sent: &Sent<'_>) {
        let upstream = self.name(sent.upstream);
        let mut prints = BTreeSet::new();
        let mut phrases = BTreeSet::new();
        for (text, is_name) in leaves(sent.arguments) {
            // Argument names repeat in every call; what the first one planted is planted.
            if is_name
                && sent.vouched == Vouched::No
                && !self.is_new_name(mixed(upstream, self.word_print(text)))
            {
                continue;
            }
            let plants = sent.vouched == Vouched::No && !self.is_own(text);
            for (class, print) in self.prints_of(text) {
                if !self.is_untrusted(class, print) {
                    prints.insert(print);
                }
                if plants && class.is_value() {
                    self.plant(mixed(upstream, print));
                }
            }
            // Whether a phrase was traced before is asked when its result comes.
            if text.len() <= 512 {
                let words = words_of(text);
                if words.len() > 1 {
                    phrases.insert(words.join(" "));
                }
            }
            for (_, hash) in grams::samples_of(text, self.gram_key()) {
                if self.sent_grams.len() < MOST_PLANTED {
                    self.sent_grams.insert(mixed(upstream, hash));
                }
            }
        }
        self.echoes.insert(sent.call, super::engine::Echo { prints, phrases });
        while self.echoes.len() > MOST_CALLS {
            self.echoes.pop_first();
        }
    }

    /// Keeps of a call's phrases those that its result echoes: they stand in it, and stood nowhere before.
    ///
    /// Asked only now, because few results repeat what was sent.
    pub(crate) fn settle_echo(&mut self, call: u64, message: &[u8]) {
        let Some(echo) = self.echoes.get_mut(&call).filter(|echo| call != 0 && !echo.phrases.is_empty())
        else {
            return;
        };
        let mut phrases = std::mem::take(&mut echo.phrases);
        // A few are looked for in the message first, which is cheaper than in the history.
        let lower = (phrases.len() <= FEW_PHRASES).then(|| message.to_ascii_lowercase());
        phrases.retain(|phrase| {
            let longest = phrase.split(' ').max_by_key(|word| word.len()).unwrap_or_default();
            let stands = |lower: &Vec<u8>| memchr::memmem::find(lower, longest.as_bytes()).is_some();
            lower.as_ref().is_none_or(stands) && {
                let words: Vec<String> = phrase.split(' ').map(str::to_owned).collect();
                self.phrase(&words, 1).is_empty()
            }
        });
        if let Some(echo) = self.echoes.get_mut(&call) {
            echo.phrases = phrases;
        }
    }

    /// Whether a name was not sent before, as far as memory allows.
    fn is_new_name(&mut self, print: u64) -> bool {
        let is_new = !self.names_sent.contains(print);
        if is_new && self.names_sent.bytes() < MOST_NAMES {
            self.names_sent.insert(print);
        }
        is_new
    }

    fn plant(&mut self, print: u64) {
        if self.planted.len() < MOST_PLANTED {
            self.planted.insert(print);
        } else if !self.planted.contains(&print) {
            self.planted_all = true;
        }
    }

    /// The fingerprints of all atoms of a text, decoded views included.
    fn prints_of(&self, text: &str) -> Vec<(Class, u64)> {
        let mut found = Vec::new();
        let mut open = vec![(text.to_owned(), 0)];
        let mut budget = text.len() * 4 + 4096;
        while let Some((text, depth)) = open.pop() {
            budget = budget.saturating_sub(text.len());
            let view = fold(&text);
            let mut sink = |class: Class, form: &str, _: std::ops::Range<usize>| {
                found.push((class, self.print(class, form)));
            };
            atoms::atoms(&view.text, &mut sink);
            atoms::whole(&view.text, true, &mut sink);
            if depth < 3 && budget > 0 {
                open.extend(decode::derive(&text, &view.text, &[]).into_iter().map(|d| (d.text, depth + 1)));
            }
        }
        found
    }

    fn is_untrusted(&self, class: Class, print: u64) -> bool {
        self.table(class).contains(print)
            || self.faded_firm.contains(print)
            || self.faded_plain.contains(print)
    }

    /// Whether a value stands in own data already, so that sending it plants nothing.
    fn is_own(&self, text: &str) -> bool {
        super::take::own_forms(super::split::address(text), &[]).iter().any(|form| {
            let mut own = false;
            self.firm.probe(self.print(Class::Own, form), |occurrence| {
                own = occurrence.kind() == PlaceKind::OwnData;
                !own
            });
            own
        })
    }

    /// Whether a call of this client put a value into this upstream.
    pub(crate) fn is_planted(&self, upstream: u32, text: &str) -> bool {
        if self.planted.is_empty() && !self.planted_all {
            return false;
        }
        self.planted_all
            || self
                .prints_of(text)
                .into_iter()
                .any(|(class, print)| class.is_value() && self.planted.contains(&mixed(upstream, print)))
    }

    /// Whether a whole value was sent, untraced, in the call that is being answered.
    pub(crate) fn is_echo(&self, echo: &BTreeSet<u64>, text: &str) -> bool {
        !echo.is_empty() && {
            let prints = self.prints_of(text);
            !prints.is_empty() && prints.iter().all(|(_, print)| echo.contains(print))
        }
    }

    /// Whether anything in a text was sent, untraced, in the call that is being answered.
    pub(crate) fn echoes_part(&self, echo: &BTreeSet<u64>, text: &str) -> bool {
        !echo.is_empty() && self.prints_of(text).iter().any(|(_, print)| echo.contains(print))
    }

    pub(crate) fn gram_key(&self) -> u64 {
        self.word_print("samples")
    }
}

pub(crate) fn mixed(upstream: u32, print: u64) -> u64 {
    (print ^ u64::from(upstream).wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(23)
}

/// All strings of the arguments, and with `true` the names of their members.
pub(crate) fn leaves(arguments: &Value) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    let mut open = vec![arguments];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => found.push((text.as_str(), false)),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                for (name, member) in members {
                    found.push((name.as_str(), true));
                    open.push(member);
                }
            }
            _ => {}
        }
    }
    found
}
