//! Bank accounts: IBAN (ISO 13616, checked by mod 97 of ISO 7064) and others as plain digits and letters.

/// Fewest digits of an account.
pub(crate) const FEWEST_DIGITS: usize = 4;

/// Separators dropped, upper case; `None` when something else than letters, digits and separators is
/// there or it is too short or long for an account.
pub(crate) fn compact(text: &str) -> Option<String> {
    let text = text.trim();
    let (mut letters, mut digits) = (0, 0);
    for c in text.chars() {
        match c {
            '0'..='9' => digits += 1,
            'A'..='Z' | 'a'..='z' => letters += 1,
            ' ' | '-' | '.' | '/' | '\u{a0}' | '\u{202f}' => {}
            _ => return None,
        }
        if letters + digits > 34 {
            return None;
        }
    }
    let compact =
        || text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect();
    (letters + digits >= 6 && digits >= FEWEST_DIGITS).then(compact)
}

/// Whether a compact text is an IBAN: country, check digits, and a remainder of 1.
pub(crate) fn is_iban(compact: &str) -> bool {
    let bytes = compact.as_bytes();
    let [a, b, c, d, ..] = bytes else { return false };
    if !(15..=34).contains(&bytes.len())
        || !a.is_ascii_uppercase()
        || !b.is_ascii_uppercase()
        || !c.is_ascii_digit()
        || !d.is_ascii_digit()
    {
        return false;
    }
    let (head, tail) = bytes.split_at(4);
    let mut rest = 0_u32;
    for byte in tail.iter().chain(head) {
        rest = match byte {
            b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
            b'A'..=b'Z' => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
            _ => return false,
        };
    }
    rest == 1
}

/// The STRICT form, with an `IBAN` prefix word dropped.
pub(crate) fn strict(text: &str) -> Option<String> {
    let text = text.trim();
    let text = match text.get(..4) {
        Some(word) if word.eq_ignore_ascii_case("iban") => text.get(4..)?.trim_start_matches([':', ' ', '=']),
        _ => text,
    };
    compact(text)
}

/// Whether a whole text can hardly be anything but an account.
pub(crate) fn is_shaped(text: &str) -> bool {
    strict(text).is_some_and(|compact| is_iban(&compact))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ibans_are_told_by_their_check_digits() {
        assert_eq!(strict("gb21 test 0000 0012 3456 78").as_deref(), Some("GB21TEST00000012345678"));
        assert_eq!(strict("IBAN: DE50 0000 0000 0123 4567 89").as_deref(), Some("DE50000000000123456789"));
        assert!(is_shaped("GB21TEST00000012345678") && !is_shaped("XX00TEST0000001234"));
        assert_eq!(strict("to Bob"), None);
    }
}
