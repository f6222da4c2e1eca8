//! Telephone numbers: E.164 with the separators people use, and `tel:` (RFC 3966).

/// A number as digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Number {
    /// Digits only, without `00`, trunk zero or extension.
    pub(crate) digits: String,
    /// Whether the country code is part of the digits.
    pub(crate) international: bool,
    /// The extension, where one is given.
    pub(crate) extension: String,
}

/// Reads a whole text as one number of 7 to 15 digits.
pub(crate) fn parse(text: &str) -> Option<Number> {
    let text = text.trim();
    let text = match text.get(..4) {
        Some(scheme) if scheme.eq_ignore_ascii_case("tel:") => text.get(4..)?,
        Some(scheme) if scheme.eq_ignore_ascii_case("sms:") => text.get(4..)?,
        _ => text,
    };
    let (main, extension) = split_extension(text);
    let mut digits = String::new();
    let mut plus = false;
    for (at, c) in main.trim().char_indices() {
        match c {
            '0'..='9' => digits.push(c),
            '+' if at == 0 => plus = true,
            ' ' | '-' | '.' | '(' | ')' | '/' | '\u{a0}' => {}
            _ => return None,
        }
    }
    let (digits, international) = if plus {
        // The trunk zero in `+44 (0)20` is dialled only inside the country.
        (if main.contains("(0)") { digits.replacen('0', "", 1) } else { digits }, true)
    } else if let Some(rest) = digits.strip_prefix("00") {
        (rest.to_owned(), true)
    } else {
        (digits.strip_prefix('0').map_or_else(|| digits.clone(), str::to_owned), false)
    };
    ((7..=15).contains(&digits.len())).then_some(Number { digits, international, extension })
}

fn split_extension(text: &str) -> (&str, String) {
    // Each of the marks has one of these.
    if !text.contains([';', 'x', 'X', '#']) {
        return (text, String::new());
    }
    let lower = text.to_ascii_lowercase();
    for mark in [";ext=", " ext. ", " ext ", " ext.", " x", "x", "#"] {
        if let Some(at) = lower.find(mark) {
            let tail = text.get(at + mark.len()..).unwrap_or_default().trim();
            if !tail.is_empty() && tail.len() <= 6 && tail.bytes().all(|b| b.is_ascii_digit()) {
                return (text.get(..at).unwrap_or_default(), tail.to_owned());
            }
        }
    }
    // Other parameters of `tel:` say how to dial, not whom.
    (text.split(';').next().unwrap_or(text), String::new())
}

/// The STRICT form: `+` and digits, or digits alone, and the extension.
pub(crate) fn strict(text: &str) -> Option<String> {
    let number = parse(text)?;
    let plus = if number.international { "+" } else { "" };
    let extension =
        if number.extension.is_empty() { String::new() } else { format!(";ext={}", number.extension) };
    Some(format!("{plus}{}{extension}", number.digits))
}

/// Whether a whole text can hardly be anything but a telephone number.
pub(crate) fn is_shaped(text: &str) -> bool {
    let text = text.trim();
    let marked = text.starts_with('+') || text.get(..4).is_some_and(|s| s.eq_ignore_ascii_case("tel:"));
    marked && parse(text).is_some_and(|number| number.digits.len() >= 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lose_what_is_not_dialled() {
        for (text, expected) in [
            ("+1 (202) 555-0143", Some("+12025550143")),
            ("0044 20 7946 0958", Some("+442079460958")),
            ("+44 (0)20 7946 0958", Some("+442079460958")),
            ("020 7946 0958", Some("2079460958")),
            ("tel:+1-202-555-0143;ext=12", Some("+12025550143;ext=12")),
            ("555-01", None),
            ("call me", None),
            ("1,202,555", None),
        ] {
            assert_eq!(strict(text).as_deref(), expected, "{text}");
        }
    }
}
