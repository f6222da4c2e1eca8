//! The LOOSE forms of a url: the tenant of a shared host, and the forms by which a url made from another is
//! told: its STRICT form, the prefixes of its path, and itself with small numbers left open.

use std::ops::Range;

use ::url::Url;

use super::atoms::{Class, Sink};
use super::canon::host;
use super::fold::lower;
use super::text::{byte, cut};

/// A shared host with the first segment of a url's path.
pub(crate) fn tenant(parsed: &Url, ascii_host: &str) -> Option<String> {
    if !host::is_shared(ascii_host) {
        return None;
    }
    let segment = parsed.path_segments()?.find(|segment| !segment.is_empty())?;
    Some(format!("{ascii_host}/{}", lower(segment)))
}

/// The forms under which a url is looked up: STRICT, the prefixes of its path, small numbers open.
pub(crate) fn forms(mut parsed: Url) -> Option<UrlForms> {
    if !matches!(parsed.scheme(), "http" | "https" | "ws" | "wss" | "ftp") {
        return None;
    }
    parsed.set_fragment(None);
    let exact = parsed.to_string();
    let open = open_numbers(&exact);
    let mut prefixes = Vec::new();
    let mut cursor = parsed.clone();
    cursor.set_query(None);
    for _ in 0..5 {
        if cursor.as_str() != exact {
            prefixes.push(cursor.to_string());
        }
        let shorter = cursor.path().trim_end_matches('/').rfind('/').map(|slash| slash + 1);
        let Some(length) = shorter.filter(|length| *length < cursor.path().len()) else { break };
        let path = cut(cursor.path(), 0..length).to_owned();
        cursor.set_path(&path);
    }
    Some(UrlForms { exact, prefixes, open, parsed })
}

/// Sinks the forms of a url.
pub(crate) fn sink(forms: &UrlForms, span: &Range<usize>, out: &mut Sink<'_>) {
    out(Class::Url, &forms.exact, span.clone());
    for prefix in &forms.prefixes {
        out(Class::UrlPrefix, prefix, span.clone());
    }
    if let Some(open) = &forms.open {
        out(Class::UrlNumber, open, span.clone());
    }
}

/// See [`forms`].
#[derive(Debug)]
pub(crate) struct UrlForms {
    pub(crate) exact: String,
    /// From the longest to the origin, each ending in a slash but perhaps the first.
    pub(crate) prefixes: Vec<String>,
    /// With numbers of up to four digits replaced; `None` where there are none.
    pub(crate) open: Option<String>,
    pub(crate) parsed: Url,
}

/// Numbers of up to four digits that stand alone, replaced by `#`.
fn open_numbers(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut changed = false;
    let after_host = text.find("://").map_or(0, |at| at + 3);
    let path = cut(text, after_host..text.len()).find('/').map_or(text.len(), |at| after_host + at);
    out.push_str(cut(text, 0..path));
    let bytes = text.as_bytes();
    let mut at = path;
    while at < bytes.len() {
        let digits = bytes.get(at..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count();
        let bounded = !byte(bytes, at.wrapping_sub(1)).is_ascii_alphanumeric()
            && !byte(bytes, at + digits).is_ascii_alphanumeric();
        if digits > 0 {
            if digits <= 4 && bounded {
                out.push('#');
                changed = true;
            } else {
                out.push_str(cut(text, at..at + digits));
            }
            at += digits;
        } else {
            let next = cut(text, at..text.len()).chars().next();
            out.extend(next);
            at += next.map_or(1, char::len_utf8);
        }
    }
    changed.then_some(out)
}

/// The forms of which one must have been read for a url to be a small change of it: a prefix of its path,
/// at most three more path words of at most 16 letters, a small number, another web scheme.
pub(crate) fn small_changes(forms: &UrlForms) -> Vec<(Class, String)> {
    let mut all = vec![(Class::UrlPrefix, forms.exact.clone())];
    if let Some(open) = &forms.open {
        all.push((Class::UrlNumber, open.clone()));
    }
    // An upgrade to https tells nobody more; a downgrade lets others on the way read along.
    if let Some(("https", rest)) = forms.exact.split_once("://") {
        all.push((Class::Url, format!("http://{rest}")));
    }
    let mut base = forms.parsed.clone();
    if let Some(query) = base.query() {
        if !query.split('&').all(is_small_pair) || query.split('&').count() > 2 {
            return all;
        }
        base.set_query(None);
        all.push((Class::Url, base.to_string()));
        all.push((Class::UrlPrefix, base.to_string()));
    }
    for _ in 0..3 {
        let path = base.path().trim_end_matches('/').to_owned();
        let Some((above, last)) = path.rsplit_once('/') else { break };
        if !is_path_word(last) {
            break;
        }
        for path in [format!("{above}/"), above.to_owned()] {
            base.set_path(&path);
            all.push((Class::Url, base.to_string()));
            all.push((Class::UrlPrefix, base.to_string()));
        }
    }
    all
}

/// `page=2`: a word and a small number.
fn is_small_pair(pair: &str) -> bool {
    pair.split_once('=').is_some_and(|(name, value)| {
        !name.is_empty()
            && name.len() <= 16
            && name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_')
            && value.len() <= 4
            && value.bytes().all(|b| b.is_ascii_digit())
    })
}

/// A path word of at most 16 letters, or a small number.
fn is_path_word(segment: &str) -> bool {
    let stem = segment.strip_suffix(".html").or_else(|| segment.strip_suffix(".md")).unwrap_or(segment);
    let letters = stem.bytes().filter(|b| *b != b'-').all(|b| b.is_ascii_alphabetic());
    let number = stem.len() <= 4 && stem.bytes().all(|b| b.is_ascii_digit());
    !stem.is_empty() && stem.len() <= 16 && (letters || number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::links;

    #[test]
    fn urls_have_forms_for_what_is_made_from_them() {
        let forms = links::read("https://a.test/docs/v1/page/2?x=3#f").and_then(forms);
        let forms = forms.map(|forms| (forms.exact, forms.prefixes, forms.open));
        assert_eq!(
            forms,
            Some((
                "https://a.test/docs/v1/page/2?x=3".to_owned(),
                [
                    "https://a.test/docs/v1/page/2",
                    "https://a.test/docs/v1/page/",
                    "https://a.test/docs/v1/",
                    "https://a.test/docs/",
                    "https://a.test/",
                ]
                .map(str::to_owned)
                .to_vec(),
                Some("https://a.test/docs/v1/page/#?x=#".to_owned()),
            ))
        );
    }
}
