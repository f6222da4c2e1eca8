//! A `sampling/createMessage` of an upstream as the client gets it: no context of any server is included.

use bytes::Bytes;

use super::scan::{self, Cursor, Duplicates};

/// The params with `includeContext` forced to `none`; everything else stays byte for byte.
///
/// # Errors
/// They cannot be read, or hold a key twice; in our own words.
pub fn sampling_shown(params: &Bytes) -> Result<Bytes, String> {
    let mut keys = Duplicates::default();
    let mut cursor = Cursor::new(params);
    let is_read = params.starts_with(b"{") && cursor.value(&mut keys).and_then(|_| cursor.end()).is_ok();
    // A reader that takes the other one of two equal keys would include what was not looked at.
    if !is_read || keys.found().is_some() {
        return Err("the params cannot be read, or hold a key twice".to_owned());
    }
    let Some(span) = scan::member(params, "includeContext") else { return Ok(params.clone()) };
    let mut shown = Vec::with_capacity(params.len() + 8);
    scan::splice(params, &[(span, b"\"none\"")], &mut shown);
    Ok(shown.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_context_is_included_whatever_is_asked() {
        fn check(params: &'static str, expected: Option<&str>) {
            let found = sampling_shown(&Bytes::from_static(params.as_bytes())).ok();
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{params}");
        }
        check(r#"{ "maxTokens":1e400,"messages":[]}"#, Some(r#"{ "maxTokens":1e400,"messages":[]}"#));
        check(r#"{"includeContext":"allServers","x":1.0}"#, Some(r#"{"includeContext":"none","x":1.0}"#));
        check(r#"{"include\u0043ontext":["allServers"]}"#, Some(r#"{"include\u0043ontext":"none"}"#));
        check(r#"{"includeContext":"none","IncludeContext":"allServers"}"#, None);
        check("[]", None);
    }
}
