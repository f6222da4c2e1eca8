//! Sums that the user typed: "950 EUR", "€1.200,50", "a fee of 5.29".
//!
//! A number is a sum when a currency stands at it, when it has two decimals, or when a word of
//! paying stands before it, but not after a mere "of", "for" or "at"; dates, times, percentages and numbers with a noun of their own are not.
//! Sums are compared as decimal text, never as binary fractions.

use super::tokens::{self, Cut};

/// A typed sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Amount {
    /// The value without leading and trailing zeros, `.` before the decimals.
    pub(super) value: String,
    /// ISO 4217 code, upper case; `None` when no currency stood at it.
    pub(super) currency: Option<String>,
    /// Where it begins in the stretch.
    pub(super) at: usize,
}

impl Amount {
    /// Whether it is the sum of a call: decimal text, and a currency as an upper-case code where one is named.
    pub(super) fn is(&self, value: &str, currency: Option<&str>) -> bool {
        // A currency must agree where both sides name one.
        let agrees = |typed: &str| currency.is_none_or(|wanted| typed == wanted);
        self.value == value && self.currency.as_deref().is_none_or(agrees)
    }
}

/// Words after which a bare number is a sum.
const BEFORE: &[&str] = &[
    "pay",
    "send",
    "transfer",
    "wire",
    "refund",
    "donate",
    "tip",
    "is",
    "exactly",
    "amount",
    "rent",
    "fee",
    "price",
    "sum",
    "total",
    "that",
    "additional",
    "additionally",
    "about",
    "only",
    "max",
    "maximum",
    "buy",
    "sell",
    "invest",
    "deposit",
    "withdraw",
    "spend",
    "lend",
    "bid",
    "to",
    "by",
    "be",
    "costs",
    "worth",
    "reimburse",
];
/// Words after a number that make it no sum.
const AFTER: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
    "am",
    "pm",
    "o'clock",
    "percent",
    "days",
    "day",
    "hours",
    "hour",
    "minutes",
    "weeks",
    "week",
    "months",
    "month",
    "years",
    "people",
    "times",
    "st",
    "nd",
    "rd",
    "th",
    "%",
];

/// All sums in a typed stretch, at most 64.
pub(super) fn amounts(text: &str) -> Vec<Amount> {
    let all: Vec<_> = tokens::tokens(text, Cut::Coarse).collect();
    let mut found = Vec::new();
    for (index, token) in all.iter().enumerate() {
        let (head, number, tail) = split(token.text);
        let Some(value) = decimal(number) else { continue };
        let before = index.checked_sub(1).and_then(|at| all.get(at)).map_or("", |token| token.text);
        let after = all.get(index + 1).map_or("", |token| token.text);
        let percent =
            tail == "%" || text.get(token.range.end..).is_some_and(|rest| rest.trim_start().starts_with('%'));
        let word =
            |back: usize| index.checked_sub(back).and_then(|at| all.get(at)).map_or("", |token| token.text);
        if percent || found.len() >= 64 || is_bound(&word) {
            continue;
        }
        let currency = [head, tail, before, after].into_iter().find_map(currency);
        let cents = number.rsplit_once(['.', ',']).is_some_and(|(_, decimals)| decimals.len() == 2);
        let spoken = BEFORE.contains(&before.to_lowercase().as_str());
        let unit = AFTER.contains(&after.to_lowercase().as_str());
        // Letters at the number that are no currency make it a code: `DE02…`, `10th`, `4x`.
        if [head, tail].iter().any(|part| !part.is_empty() && self::currency(part).is_none()) {
            continue;
        }
        if currency.is_some() || (!unit && (cents || spoken)) {
            found.push(Amount { value, currency, at: token.range.start });
        }
    }
    found
}

/// Whether the words before a number make it a bound and no sum: "never more than 100", "at most 100", "90 EUR of 2000".
fn is_bound<'t>(word: &dyn Fn(usize) -> &'t str) -> bool {
    // A currency may stand between.
    let from = if currency(word(1)).is_some() { 2 } else { 1 };
    let is = |back: usize, other: &str| word(from + back).eq_ignore_ascii_case(other);
    let number = |back: usize| decimal(split(word(from + back)).1).is_some();
    is(0, "than")
        || is(0, "most") && is(1, "at")
        || is(0, "to") && is(1, "up")
        || is(0, "of") && (number(1) || number(2) && currency(word(from + 1)).is_some())
}

/// `$`, `EUR` or the like at the front, the number, and what follows it.
fn split(token: &str) -> (&str, &str, &str) {
    let start = token.find(|c: char| c.is_ascii_digit()).unwrap_or(token.len());
    let (head, rest) = token.split_at(start);
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '\'' | '_')))
        .unwrap_or(rest.len());
    let (number, tail) = rest.split_at(end);
    (head, number, tail)
}

/// Decimal text in one form: both `1,200.50` and `1.200,50` are `1200.5`. `None` for what is no number.
pub(super) fn decimal(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches('+');
    if text.is_empty()
        || text.len() > 40
        || !text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '\'' | '_'))
    {
        return None;
    }
    let marks: Vec<char> = text.chars().filter(|c| !c.is_ascii_digit()).collect();
    let last = text.rfind(|c: char| !c.is_ascii_digit());
    let point = last.filter(|at| {
        let mark = text.get(*at..).and_then(|rest| rest.chars().next());
        let decimals = text.len() - at - 1;
        let once = marks.iter().filter(|c| Some(**c) == mark).count() == 1;
        // A mark that stands once is the point, unless three digits follow a comma: `1,200`.
        once && matches!(mark, Some('.' | ',')) && (mark == Some('.') && marks.len() == 1 || decimals != 3)
    });
    let (whole, decimals) = match point {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, ""),
    };
    let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
    let whole = digits.trim_start_matches('0');
    let decimals = decimals.trim_end_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(if decimals.is_empty() { whole.to_owned() } else { format!("{whole}.{decimals}") })
}

/// The ISO 4217 code of a sign, a code or a word.
pub(super) fn currency(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| matches!(c, '.' | ',' | '(' | ')'));
    let code = match text.to_lowercase().as_str() {
        "$" | "us$" | "usd" | "dollar" | "dollars" | "bucks" => "USD",
        "€" | "eur" | "euro" | "euros" => "EUR",
        "£" | "gbp" | "pound" | "pounds" | "quid" => "GBP",
        "¥" | "jpy" | "yen" => "JPY",
        "₹" | "inr" | "rupee" | "rupees" => "INR",
        "chf" | "franc" | "francs" => "CHF",
        "cny" | "rmb" | "yuan" => "CNY",
        "₩" | "krw" | "won" => "KRW",
        "cad" | "c$" => "CAD",
        "aud" | "a$" => "AUD",
        "sek" => "SEK",
        "nok" => "NOK",
        "dkk" => "DKK",
        "pln" | "zł" => "PLN",
        "czk" => "CZK",
        "btc" | "₿" | "bitcoin" => "BTC",
        "eth" | "ether" => "ETH",
        "usdc" => "USDC",
        "usdt" => "USDT",
        "sol" => "SOL",
        "bnb" => "BNB",
        _ => return None,
    };
    Some(code.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, Option<&str>)]) {
        let found = amounts(text);
        let found: Vec<(&str, Option<&str>)> =
            found.iter().map(|amount| (amount.value.as_str(), amount.currency.as_deref())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn sums_are_found_and_other_numbers_are_not() {
        check("Pay the rent of 950 EUR to DE02120300000000202051.", &[("950", Some("EUR"))]);
        check("Send €1.200,50 to Ana", &[("1200.5", Some("EUR"))]);
        check("Send $1,200 and 12.00 more", &[("1200", Some("USD")), ("12", None)]);
        check("rent is 2200.", &[("2200", None)]);
        check("on June 13 for 3 people at 10:00", &[]);
        check("an additional 19.5% of it + a fee of 5.29", &[("5.29", None)]);
        check("buy 10 shares, issue 212", &[("10", None)]);
        check("pay 90 EUR but never more than 100 EUR, at most € 95 or up to 99 EUR", &[("90", Some("EUR"))]);
        check(
            "Pay 90 EUR of 2000 EUR, then an invoice of 30 EUR",
            &[("90", Some("EUR")), ("30", Some("EUR"))],
        );
        check("Pay 20 EUR for 88213, the invoice of 2024, at 12", &[("20", Some("EUR"))]);
    }

    #[test]
    fn decimals_have_one_form() {
        for (text, expected) in [
            ("0950.00", Some("950")),
            ("4180.0", Some("4180")),
            ("1,200", Some("1200")),
            ("1.200", Some("1.2")),
            ("1.200,5", Some("1200.5")),
            ("0.10", Some("0.1")),
            ("1e3", None),
            ("-5", None),
            ("", None),
        ] {
            assert_eq!(decimal(text).as_deref(), expected, "{text}");
        }
    }
}
