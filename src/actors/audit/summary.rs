//! Counts over a log, in one pass and constant memory: a log is as long as it likes, and may hold lines
//! that are none of ours.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Different names that are counted apart; what comes after counts as [`OTHER`].
const NAMES: usize = 2_000;
/// The name of the rest.
const OTHER: &str = "(others)";
/// Milliseconds of an hour.
const HOUR: u64 = 3_600_000;

/// What is read of a record; everything may be missing.
#[derive(Debug, Default, Deserialize)]
pub struct Entry<'a> {
    /// `verdict` or `outcome`; nothing in the reference format, whose records are verdicts.
    #[serde(borrow, default)]
    pub kind: Option<Cow<'a, str>>,
    /// When: milliseconds, seconds or an RFC 3339 text.
    #[serde(default)]
    ts: Option<Moment<'a>>,
    /// The session.
    #[serde(borrow, default)]
    pub session: Option<Cow<'a, str>>,
    /// The session's number of the call.
    #[serde(default)]
    pub call: Option<u64>,
    /// The client.
    #[serde(borrow, default)]
    pub client: Option<Cow<'a, str>>,
    /// The upstream.
    #[serde(borrow, default)]
    pub upstream: Option<Cow<'a, str>>,
    /// The tool.
    #[serde(borrow, default)]
    pub tool: Option<Cow<'a, str>>,
    /// The verdict.
    #[serde(borrow, default)]
    pub verdict: Option<Cow<'a, str>>,
    /// The contract.
    #[serde(borrow, default)]
    pub contract: Option<Cow<'a, str>>,
    /// The reason.
    #[serde(borrow, default)]
    pub reason: Option<Cow<'a, str>>,
    /// What became of a question.
    #[serde(borrow, default)]
    pub answer: Option<Cow<'a, str>>,
    /// How a call ended.
    #[serde(borrow, default)]
    pub outcome: Option<Cow<'a, str>>,
    /// How long it took.
    #[serde(default)]
    pub latency_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Moment<'a> {
    Number(f64),
    Text(#[serde(borrow)] Cow<'a, str>),
    Other(serde::de::IgnoredAny),
}

impl<'a> Entry<'a> {
    /// Reads one line; `None` when it is no record.
    pub fn read(line: &'a [u8]) -> Option<Self> {
        let entry: Self = serde_json::from_slice(line).ok()?;
        (entry.verdict.is_some() || entry.outcome.is_some() || entry.kind.is_some()).then_some(entry)
    }

    /// When, in milliseconds since the Unix epoch; `None` when it is missing or makes no sense.
    pub fn millis(&self) -> Option<u64> {
        // What is later than the year 2286 in seconds is in milliseconds.
        const SECONDS: f64 = 1e10;
        const LAST: f64 = 253_402_300_799_000.0;
        match self.ts.as_ref()? {
            Moment::Number(number) => {
                let millis = if *number < SECONDS { number * 1000.0 } else { *number };
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the range was checked"
                )]
                (0.0..=LAST).contains(&millis).then_some(millis as u64)
            }
            Moment::Text(text) => {
                let moment: jiff::Timestamp = text.parse().ok()?;
                u64::try_from(moment.as_millisecond()).ok()
            }
            Moment::Other(_) => None,
        }
    }

    /// Whether it is a verdict on a call.
    pub fn is_verdict(&self) -> bool {
        self.verdict.is_some() && self.kind.as_deref().is_none_or(|kind| kind == "verdict")
    }
}

/// Calls of one name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Allowed.
    pub allow: u64,
    /// Asked about, whatever came of it.
    pub ask: u64,
    /// Refused by the rules.
    pub deny: u64,
}

impl Count {
    fn add(&mut self, verdict: &str) {
        match verdict {
            "allow" => self.allow += 1,
            "ask" => self.ask += 1,
            _ => self.deny += 1,
        }
    }
}

/// The counts. Names in it are hostile text.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Lines read.
    pub lines: u64,
    /// Calls judged.
    pub calls: u64,
    /// All of them by verdict.
    pub verdicts: Count,
    /// By contract.
    pub contracts: BTreeMap<String, Count>,
    /// By `upstream.tool`.
    pub tools: BTreeMap<String, Count>,
    /// By upstream.
    pub upstreams: BTreeMap<String, Count>,
    /// By hour, as its first millisecond since the Unix epoch.
    pub hours: BTreeMap<u64, Count>,
    /// Questions that a person was shown.
    pub prompts: u64,
    /// Those answered with yes.
    pub approved: u64,
    /// Calls that should have been asked about, where nobody could be asked.
    pub nobody_asked: u64,
    /// How forwarded calls ended.
    pub outcomes: BTreeMap<String, u64>,
    /// The first and the last moment, in milliseconds since the Unix epoch.
    pub span: Option<(u64, u64)>,
    /// Lines that are no record.
    pub foreign: u64,
    /// Records without a moment that makes sense.
    pub bad_times: u64,
    /// Verdicts without a tool or a contract.
    pub incomplete: u64,
}

impl Summary {
    /// Counts one line.
    pub fn add(&mut self, line: &[u8]) {
        self.lines += 1;
        let Some(entry) = Entry::read(line) else {
            self.foreign += 1;
            return;
        };
        let millis = entry.millis();
        match millis {
            None => self.bad_times += 1,
            Some(at) => {
                let (first, last) = self.span.unwrap_or((at, at));
                self.span = Some((first.min(at), last.max(at)));
            }
        }
        if let (false, Some(outcome)) = (entry.is_verdict(), &entry.outcome) {
            *slot(&mut self.outcomes, outcome) += 1;
        }
        if entry.is_verdict() {
            self.add_verdict(&entry, millis);
        }
    }

    fn add_verdict(&mut self, entry: &Entry<'_>, millis: Option<u64>) {
        let verdict = entry.verdict.as_deref().unwrap_or_default();
        self.calls += 1;
        self.verdicts.add(verdict);
        if entry.tool.is_none() || entry.contract.is_none() {
            self.incomplete += 1;
        }
        let contract = entry.contract.as_deref().unwrap_or("(none)");
        slot(&mut self.contracts, contract).add(verdict);
        let tool = entry.tool.as_deref().unwrap_or("(none)");
        if let Some(upstream) = entry.upstream.as_deref() {
            slot(&mut self.upstreams, upstream).add(verdict);
            slot(&mut self.tools, &format!("{upstream}.{tool}")).add(verdict);
        } else {
            slot(&mut self.tools, tool).add(verdict);
        }
        if let Some(millis) = millis {
            let hour = millis - millis % HOUR;
            if self.hours.len() < NAMES || self.hours.contains_key(&hour) {
                self.hours.entry(hour).or_default().add(verdict);
            }
        }
        match entry.answer.as_deref() {
            Some("allowed") => {
                self.prompts += 1;
                self.approved += 1;
            }
            Some("no_human" | "tired") => self.nobody_asked += 1,
            Some(_) => self.prompts += 1,
            None => {}
        }
    }

    /// Questions for each 100 calls.
    pub fn prompts_per_100(&self) -> f64 {
        per_100(self.prompts, self.calls)
    }

    /// How many of 100 questions were answered with yes.
    pub fn approval_rate(&self) -> f64 {
        per_100(self.approved, self.prompts)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate is no count")]
fn per_100(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 * 1000.0 / whole as f64).round() / 10.0 }
}

/// The place of a name; that of the rest when there are too many.
fn slot<'m, T: Default>(map: &'m mut BTreeMap<String, T>, name: &str) -> &'m mut T {
    let name: String = name.chars().take(200).collect();
    let name = if map.len() < NAMES || map.contains_key(&name) { name } else { OTHER.to_owned() };
    map.entry(name).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(lines: &[&str]) -> Summary {
        let mut summary = Summary::default();
        for line in lines {
            summary.add(line.as_bytes());
        }
        summary
    }

    #[test]
    fn everything_is_counted_once() {
        let verdict = |verdict: &str, more: &str| {
            format!(
                "{{\"kind\":\"verdict\",\"ts\":1764547200000,\"upstream\":\"mail\",\"tool\":\"send\",\"verdict\":\"{verdict}\",\"contract\":\"sink_gate\"{more}}}"
            )
        };
        let lines = [
            verdict("allow", ""),
            verdict("ask", ",\"answer\":\"allowed\""),
            verdict("ask", ",\"answer\":\"refused\""),
            verdict("ask", ",\"answer\":\"no_human\""),
            verdict("deny", ",\"args\":{\"a\":[1e400,{}]}"),
            "{\"kind\":\"outcome\",\"ts\":1764547200000,\"upstream\":\"mail\",\"tool\":\"send\",\"outcome\":\"result\"}".to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let seen = summary(&lines);
        assert_eq!(seen.verdicts, Count { allow: 1, ask: 3, deny: 1 });
        assert_eq!(seen.tools["mail.send"], seen.verdicts);
        assert_eq!((seen.prompts, seen.approved, seen.nobody_asked), (2, 1, 1));
        assert!((seen.prompts_per_100() - 40.0).abs() < 1e-9 && (seen.approval_rate() - 50.0).abs() < 1e-9);
        assert_eq!((seen.outcomes["result"], seen.hours.len(), seen.foreign), (1, 1, 0));
    }

    #[test]
    fn bad_lines_are_counted_and_break_nothing() {
        let seen = summary(&[
            "",
            "not json",
            "[1,2]",
            "{\"hello\":\"world\"}",
            "{\"verdict\":\"allow\",\"ts\":\"yesterday\"}",
            "{\"verdict\":\"allow\",\"ts\":-5}",
            "{\"verdict\":\"allow\",\"ts\":{}}",
            "{\"verdict\":\"deny\",\"tool\":\"t\",\"contract\":\"pin\",\"ts\":1764547200.5}",
            "{\"verdict\":\"deny\",\"tool\":\"t\",\"contract\":\"pin\",\"ts\":\"2025-12-01T00:00:00Z\"}",
        ]);
        assert_eq!((seen.lines, seen.foreign, seen.bad_times, seen.incomplete, seen.calls), (9, 4, 3, 3, 5));
        assert_eq!(seen.span, Some((1_764_547_200_000, 1_764_547_200_500)));
    }

    #[test]
    fn many_names_need_no_more_memory() {
        let mut summary = Summary::default();
        for n in 0..NAMES * 2 {
            summary
                .add(format!("{{\"verdict\":\"allow\",\"tool\":\"t{n}\",\"upstream\":\"u{n}\"}}").as_bytes());
        }
        assert_eq!(summary.tools.len(), NAMES + 1);
        assert_eq!(summary.tools[OTHER].allow, NAMES as u64);
    }
}
