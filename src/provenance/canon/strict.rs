//! The STRICT form of a value of a kind: what decides *trusted*, *approved* and *typed*.

use super::{account, email, host, path, phone, plain, url};
use crate::provenance::text::is_hidden;
use crate::provenance::{Kind, Strict};

/// The STRICT form of a text of this kind; `None` when it has no form that could be trusted: it does not
/// parse as the kind, or it holds characters that nobody can see.
///
/// Emails fold the ASCII case of both halves and map the domain by IDNA; urls are the WHATWG form without
/// fragment and default port; phones are digits; accounts lose their separators; paths are lexical.
/// Confusables, plus tags and encodings are never folded.
pub fn strict_form(text: &str, kind: Kind) -> Option<Strict> {
    if text.chars().any(is_hidden) {
        return None;
    }
    let form = match kind {
        Kind::Email => email::strict(text),
        Kind::Url => url::strict(text),
        Kind::Host => host::strict(text),
        Kind::Phone => phone::strict(text),
        Kind::Account => account::strict(text),
        Kind::Channel => plain::channel(text),
        Kind::Path => path::strict(text),
        Kind::Repo => plain::repo(text),
        Kind::Id => plain::id(text),
        Kind::Name | Kind::Text => plain::name(text),
    };
    form.map(Strict)
}
