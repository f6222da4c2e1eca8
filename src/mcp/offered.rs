//! What an upstream is offered of the client: the capabilities that the client declared, and of them
//! those that the policy admits and Bouncer can pass on.
//!
//! What is offered keeps the bytes that the client wrote. Left out are `experimental` and anything
//! unknown, since their requests could not be given to the session they belong to, and `sampling.context`,
//! since no context of other servers is ever included. `reverse.rs` holds the requests themselves.

use bytes::Bytes;

use super::scan;

/// A request that an upstream may make of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reverse {
    /// `sampling/createMessage`: let the client's model write something.
    Sample,
    /// `elicitation/create`: ask the human.
    Elicit,
    /// `roots/list`: which folders the client works in.
    ListRoots,
}

impl Reverse {
    /// The request of this name.
    pub(crate) fn of(method: &[u8]) -> Option<Self> {
        [Self::Sample, Self::Elicit, Self::ListRoots]
            .into_iter()
            .find(|reverse| reverse.name().as_bytes() == method)
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sample => "sampling/createMessage",
            Self::Elicit => "elicitation/create",
            Self::ListRoots => "roots/list",
        }
    }
}

/// Whether the policy lets an upstream use the client's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// It does not.
    #[default]
    Off,
    /// It names the upstream.
    On,
}

/// The ways in which a client can ask a human.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modes {
    /// By a form.
    pub form: bool,
    /// By sending them to a url.
    pub url: bool,
}

impl Modes {
    /// Reads the raw `elicitation` capability. A bare `{}` means forms; one that names modes has only those.
    pub(crate) fn read(elicitation: &[u8]) -> Self {
        if !elicitation.starts_with(b"{") {
            return Self::default();
        }
        let url = scan::member(elicitation, "url").is_some();
        Self { form: scan::member(elicitation, "form").is_some() || !url, url }
    }
}

/// What an upstream is offered of the client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offered {
    roots: Option<Bytes>,
    sampling: Option<Bytes>,
    elicitation: Option<Bytes>,
}

impl Offered {
    /// What is offered of raw `capabilities` as a client declared them. What is no object is not declared.
    pub fn of(declared: &Bytes, sampling: Sampling) -> Self {
        let at = |name: &str| {
            let raw = declared.slice(scan::member(declared, name)?);
            raw.starts_with(b"{").then_some(raw)
        };
        Self {
            roots: at("roots"),
            sampling: at("sampling")
                .filter(|_| sampling == Sampling::On)
                .map(|raw| scan::without(&raw, &["context"])),
            elicitation: at("elicitation"),
        }
    }

    /// As raw JSON.
    pub(crate) fn raw(&self) -> Vec<u8> {
        let mut out = b"{".to_vec();
        for (name, raw) in
            [("roots", &self.roots), ("sampling", &self.sampling), ("elicitation", &self.elicitation)]
        {
            let Some(raw) = raw else { continue };
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(format!("\"{name}\":").as_bytes());
            out.extend_from_slice(raw);
        }
        out.push(b'}');
        out
    }

    /// Whether a request of this kind may be made.
    pub(crate) fn offers(&self, reverse: Reverse) -> bool {
        match reverse {
            Reverse::Sample => self.sampling.is_some(),
            Reverse::Elicit => self.elicitation.is_some(),
            Reverse::ListRoots => self.roots.is_some(),
        }
    }

    /// How the human can be asked.
    pub fn modes(&self) -> Modes {
        self.elicitation.as_deref().map(Modes::read).unwrap_or_default()
    }

    /// Whether the upstream was told that it will hear when the roots change.
    pub(crate) fn tells_roots(&self) -> bool {
        let told =
            self.roots.as_deref().and_then(|raw| Some(scan::slice(raw, &scan::member(raw, "listChanged")?)));
        told == Some(b"true")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(declared: &str, sampling: Sampling) -> (String, Modes) {
        let offered = Offered::of(&Bytes::copy_from_slice(declared.as_bytes()), sampling);
        (String::from_utf8(offered.raw()).unwrap(), offered.modes())
    }

    #[test]
    fn an_upstream_is_offered_what_the_client_has_and_the_policy_admits() {
        fn check(declared: &str, sampling: Sampling, expected: &str) {
            assert_eq!(offered(declared, sampling).0, expected, "{declared}");
        }
        check("{}", Sampling::On, "{}");
        check("", Sampling::On, "{}");
        check("[]", Sampling::On, "{}");
        check(r#"{"roots":null,"elicitation":true}"#, Sampling::On, "{}");
        let all = r#"{"sampling":{"tools":{ },"context":{"x":[1,2]}},"experimental":{"e":{}},"roots":{"listChanged":true,"v/x":1.0},"elicitation":{"form":{},"url":{}}}"#;
        check(
            all,
            Sampling::Off,
            r#"{"roots":{"listChanged":true,"v/x":1.0},"elicitation":{"form":{},"url":{}}}"#,
        );
        check(
            all,
            Sampling::On,
            r#"{"roots":{"listChanged":true,"v/x":1.0},"sampling":{"tools":{ }},"elicitation":{"form":{},"url":{}}}"#,
        );
        check(r#"{"sampling":{"context":{}}}"#, Sampling::On, r#"{"sampling":{}}"#);
    }

    #[test]
    fn a_bare_elicitation_is_a_form() {
        fn check(declared: &str, form: bool, url: bool) {
            assert_eq!(offered(declared, Sampling::Off).1, Modes { form, url }, "{declared}");
        }
        check("{}", false, false);
        check(r#"{"elicitation":{}}"#, true, false);
        check(r#"{"elicitation":{"form":{},"url":{}}}"#, true, true);
        check(r#"{"elicitation":{"url":{}}}"#, false, true);
        check(r#"{"elicitation":{"form":{}}}"#, true, false);
        check(r#"{"elicitation":null}"#, false, false);
    }
}
