//! Channels, handles, repositories, ids and names: what is compared as it stands, after its marks are
//! dropped.

use crate::provenance::text::squeeze;

/// A channel or handle without `#` and without the brackets of a mention; `@` stays, for a person is not
/// a channel. Lower case unless it is an opaque id such as `C0EXF1L77`.
pub(crate) fn channel(text: &str) -> Option<String> {
    let text = text.trim();
    let text = mention(text).unwrap_or(text);
    let text = text.strip_prefix('#').unwrap_or(text).trim();
    let opaque = text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().any(|b| b.is_ascii_uppercase());
    let text = if opaque { text.to_owned() } else { text.to_ascii_lowercase() };
    let text = squeeze(&text);
    (!text.is_empty() && text != "@").then_some(text)
}

/// The id inside a Slack mention: `<#C1|name>`, `<@U1>`.
pub(crate) fn mention(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?.strip_suffix('>')?;
    let inner = inner.strip_prefix(['#', '@', '!'])?;
    Some(inner.split(['|', '^']).next().unwrap_or(inner))
}

/// `owner/repo` of a code host, in lower case as the hosts compare it; from its url too.
pub(crate) fn repo(text: &str) -> Option<String> {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    let rest = lower
        .strip_prefix("https://")
        .or_else(|| lower.strip_prefix("http://"))
        .and_then(|rest| rest.split_once('/').map(|(_, path)| path))
        .or_else(|| lower.strip_prefix("git@").and_then(|rest| rest.split_once(':').map(|(_, path)| path)))
        .unwrap_or(&lower);
    let rest = rest.trim_end_matches('/');
    let rest = rest.strip_suffix(".git").unwrap_or(rest);
    let (owner, name) = rest.split_once('/')?;
    (is_repo_part(owner) && is_repo_part(name)).then(|| format!("{owner}/{name}"))
}

fn is_repo_part(part: &str) -> bool {
    !part.is_empty()
        && part.len() <= 100
        && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && !part.bytes().all(|b| b == b'.')
}

/// A UUID as 32 small hex digits, whatever its punctuation.
pub(crate) fn uuid(text: &str) -> Option<String> {
    let text = text.trim();
    let text = match text.get(..9) {
        Some(urn) if urn.eq_ignore_ascii_case("urn:uuid:") => text.get(9..)?,
        _ => text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text),
    };
    if !matches!(text.len(), 32 | 36) {
        return None;
    }
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    if groups != [8, 4, 4, 4, 12] && groups != [32] {
        return None;
    }
    let hex: String = text.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect();
    hex.bytes().all(|b| b.is_ascii_hexdigit()).then_some(hex)
}

/// An id: a UUID in one spelling, anything else as it stands.
pub(crate) fn id(text: &str) -> Option<String> {
    let text = text.trim();
    uuid(text).or_else(|| (!text.is_empty()).then(|| squeeze(text)))
}

/// A name or text with white space as one space.
pub(crate) fn name(text: &str) -> Option<String> {
    let text = squeeze(text);
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_dropped() {
        assert_eq!(channel("#General").as_deref(), Some("general"));
        assert_eq!(channel("<#C0EXF1L77|exfil>").as_deref(), Some("C0EXF1L77"));
        assert_eq!(channel("@Ann").as_deref(), Some("@ann"));
        assert_eq!(repo("https://github.com/Evil/Repo.git").as_deref(), Some("evil/repo"));
        assert_eq!(repo("a/b/c"), None);
        assert_eq!(
            id("{3F2B8C1E-7D4A-4E6B-9A0C-5D1E2F3A4B5C}").as_deref(),
            Some("3f2b8c1e7d4a4e6b9a0c5d1e2f3a4b5c")
        );
    }
}
