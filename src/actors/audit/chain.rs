//! The hash chain: each line ends in `"prev":…,"hash":…`, where `hash` is the SHA-256 of the line's
//! bytes before `,"hash"` and `prev` is the hash of the line before.
//!
//! Any byte that is changed in any line breaks that line's hash, and any line that is taken out
//! breaks the next line's `prev`. A tail that is cut off shows only against a head kept elsewhere.

use sha2::{Digest, Sha256};

/// The `prev` of the first line.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What a line says of its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The hash of the line before, as the line states it.
    pub prev: String,
    /// The line's own hash.
    pub hash: String,
}

/// Ends an open object (`{"a":1` without its brace) as a line of the chain, with its line break, at the end of
/// `lines`. `prev` is the hash of the line before, and becomes that of this one.
pub fn seal(open: &str, prev: &mut String, lines: &mut String) {
    let start = lines.len();
    lines.reserve(open.len() + 160);
    lines.push_str(open);
    lines.push_str(",\"prev\":\"");
    lines.push_str(prev);
    lines.push('"');
    prev.clear();
    data_encoding::HEXLOWER.encode_append(&digest(lines.get(start..).unwrap_or_default()), prev);
    lines.push_str(",\"hash\":\"");
    lines.push_str(prev);
    lines.push_str("\"}\n");
}

/// Reads and checks one line, without its line break.
///
/// # Errors
///
/// What is wrong with it, for the operator: no hash at its end, or a hash that is not that of its bytes.
pub fn verify_line(line: &str) -> Result<Link, &'static str> {
    let at = line.rfind(",\"hash\":\"").ok_or("it has no hash")?;
    let (body, tail) = line.split_at(at);
    let hash = tail
        .strip_prefix(",\"hash\":\"")
        .and_then(|rest| rest.strip_suffix("\"}"))
        .filter(|hash| hash.len() == GENESIS.len())
        .ok_or("its hash is malformed")?;
    let prev_at = body.rfind(",\"prev\":\"").ok_or("it has no link to the line before")?;
    let prev = body
        .get(prev_at..)
        .and_then(|rest| rest.strip_prefix(",\"prev\":\""))
        .and_then(|rest| rest.strip_suffix('"'))
        .filter(|prev| prev.len() == GENESIS.len())
        .ok_or("its link to the line before is malformed")?;
    if data_encoding::HEXLOWER.encode(&digest(body)) != hash {
        return Err("its hash does not fit its text");
    }
    Ok(Link { prev: prev.to_owned(), hash: hash.to_owned() })
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sealed_line_verifies_and_names_its_neighbour() {
        let mut lines = String::new();
        let mut prev = GENESIS.to_owned();
        seal("{\"kind\":\"verdict\"", &mut prev, &mut lines);
        let hash = prev.clone();
        seal("{\"kind\":\"outcome\"", &mut prev, &mut lines);
        let (first, second) = lines.trim_end().split_once('\n').unwrap();
        assert_eq!(verify_line(first).unwrap().hash, hash);
        assert_eq!(verify_line(second).unwrap().prev, hash);
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_found(at in 0_usize..1000, to in any::<u8>()) {
            let mut line = String::new();
            seal("{\"kind\":\"verdict\",\"tool\":\"send\"", &mut GENESIS.to_owned(), &mut line);
            let line = line.trim_end();
            let mut bytes = line.as_bytes().to_vec();
            let at = at % bytes.len();
            prop_assume!(bytes[at] != to);
            bytes[at] = to;
            let ok = std::str::from_utf8(&bytes).is_ok_and(|line| verify_line(line).is_ok());
            prop_assert!(!ok);
        }
    }
}
