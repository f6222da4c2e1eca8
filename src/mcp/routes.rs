//! Which upstream a uri or an exported prompt stands for.
//!
//! A resource keeps its uri, so two upstreams may claim the same one: then the first by name has it, in
//! every list and for every read, and the operator is told. A uri that nobody listed goes to the first
//! upstream, in the same order, with a template that fits it, and where only one upstream has resources,
//! to that. Prompts have exported names as tools have, and as there two that claim one name are both
//! refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::provenance::escaped as escape;

use super::capability::Capability;
use super::catalog::{Listing, two_claim};
use super::entry::Entry;
use super::listing::List;
use super::method::Address;
use super::page::Pages;

/// The upstream and entry of a prompt, or why it is not offered.
type PromptRoute<'a> = Result<(&'a Arc<str>, &'a Arc<Entry>), &'a str>;

/// What a uri stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A resource of this upstream.
    At(Arc<str>, Address),
    /// No upstream claims it.
    Nowhere,
}

#[derive(Debug)]
enum Slot {
    Prompt(Arc<str>, Arc<Entry>),
    Clash(String),
}

/// The tables of all upstreams.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    resources: BTreeMap<Arc<str>, Arc<str>>,
    templates: BTreeMap<Arc<str>, Arc<str>>,
    patterns: Vec<(Arc<Entry>, Arc<str>)>,
    prompts: BTreeMap<Arc<str>, Slot>,
    sole: Option<Arc<str>>,
    pages: BTreeMap<List, Arc<Pages>>,
}

impl Routes {
    /// The tables of these listings, in the order of their upstreams' names, and what the operator should
    /// know of clashes.
    pub(crate) fn new<'a>(
        listings: impl Iterator<Item = (&'a Arc<str>, &'a Listing)> + Clone,
    ) -> (Self, Vec<String>) {
        let mut new = Self::default();
        let mut notes = Vec::new();
        let mut shown: BTreeMap<List, Vec<Arc<Entry>>> = BTreeMap::new();
        for (upstream, listing) in listings.clone() {
            for list in [List::Resources, List::Templates] {
                let claimed = if list == List::Resources { &mut new.resources } else { &mut new.templates };
                for entry in listing.entries(list) {
                    if let Some(other) = claimed.get(&entry.key) {
                        notes.push(format!(
                            "`{}` is listed by `{}` and by `{}`; it is read from the first",
                            escape(&entry.key, 120),
                            escape(other, 80),
                            escape(upstream, 80)
                        ));
                        continue;
                    }
                    claimed.insert(entry.key.clone(), upstream.clone());
                    shown.entry(list).or_default().push(entry.clone());
                }
            }
            let patterns = listing.entries(List::Templates).iter().filter(|entry| entry.pattern.is_some());
            new.patterns.extend(patterns.map(|entry| (entry.clone(), upstream.clone())));
            for entry in listing.entries(List::Prompts) {
                let slot = match new.prompts.remove(&entry.exported) {
                    Some(Slot::Prompt(other, prompt)) => {
                        notes.push(clash(&entry.exported, (&prompt.key, &other), (&entry.key, upstream)));
                        Slot::Clash(two_claim("prompts", &entry.exported, (&other, upstream)))
                    }
                    Some(clash @ Slot::Clash(_)) => clash,
                    None => Slot::Prompt(upstream.clone(), entry.clone()),
                };
                new.prompts.insert(entry.exported.clone(), slot);
            }
        }
        let mut with_resources =
            listings.clone().filter(|(_, listing)| listing.capabilities.has(Capability::Resources));
        new.sole = match (with_resources.next(), with_resources.next()) {
            (Some((sole, _)), None) => Some(sole.clone()),
            _ => None,
        };
        let prompts = listings.flat_map(|(_, listing)| listing.entries(List::Prompts));
        let offered =
            |entry: &&Arc<Entry>| matches!(new.prompts.get(&entry.exported), Some(Slot::Prompt(..)));
        shown.insert(List::Prompts, prompts.filter(offered).cloned().collect());
        for list in [List::Resources, List::Templates, List::Prompts] {
            let entries = shown.get(&list).map(Vec::as_slice).unwrap_or_default();
            let pages = Pages::new(list, entries.iter().map(|entry| &entry.shown));
            new.pages.insert(list, Arc::new(pages));
        }
        (new, notes)
    }

    /// The pages of a list other than the tools.
    pub(crate) fn pages(&self, list: List) -> Arc<Pages> {
        self.pages.get(&list).cloned().unwrap_or_else(|| Arc::new(Pages::new(list, [].iter())))
    }

    /// What a uri stands for.
    pub(crate) fn resource(&self, uri: &str) -> Found {
        if let Some(upstream) = self.resources.get(uri) {
            return Found::At(upstream.clone(), Address::Listed);
        }
        let fits = |entry: &Entry| entry.pattern.as_ref().is_some_and(|pattern| pattern.fits(uri));
        let fits = self.patterns.iter().find(|(entry, _)| fits(entry));
        match fits.map(|(_, upstream)| upstream).or(self.sole.as_ref()) {
            Some(upstream) => Found::At(upstream.clone(), Address::Made),
            None => Found::Nowhere,
        }
    }

    /// The upstream that listed a uri or a template exactly so.
    pub(crate) fn claimed(&self, uri: &str) -> Option<&Arc<str>> {
        self.resources.get(uri).or_else(|| self.templates.get(uri))
    }

    /// The upstream and entry of an exported prompt; why there is none, if two claim it.
    pub(crate) fn prompt(&self, exported: &str) -> Option<PromptRoute<'_>> {
        self.prompts.get(exported).map(|slot| match slot {
            Slot::Prompt(upstream, prompt) => Ok((upstream, prompt)),
            Slot::Clash(why) => Err(why.as_str()),
        })
    }
}

fn clash(exported: &str, a: (&str, &str), b: (&str, &str)) -> String {
    format!(
        "the exported name `{}` is claimed by prompt `{}` of `{}` and by prompt `{}` of `{}`; neither is offered until \
         one of the servers gets another `prefix`",
        escape(exported, 80),
        escape(a.0, 80),
        escape(a.1, 80),
        escape(b.0, 80),
        escape(b.1, 80)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn listing(list: List, keys: &[&str]) -> Listing {
        let raw: Vec<Bytes> = keys
            .iter()
            .map(|key| match list {
                List::Prompts => format!("{{\"name\":\"{key}\"}}").into(),
                _ => format!("{{\"{}\":\"{key}\",\"name\":\"{key}\"}}", list.entry_key()).into(),
            })
            .collect();
        let mut listing = Listing { capabilities: super::super::Capabilities::all(), ..Listing::default() };
        listing.set(list, super::super::entry::entries(list, "", &raw).0.into());
        listing
    }

    fn routes(listings: &[(&str, Listing)]) -> (Routes, Vec<String>) {
        let named: Vec<(Arc<str>, &Listing)> =
            listings.iter().map(|(name, listing)| ((*name).into(), listing)).collect();
        Routes::new(named.iter().map(|(name, listing)| (name, *listing)))
    }

    #[test]
    fn the_first_by_name_has_a_uri_that_two_claim() {
        let both = [
            ("a", listing(List::Resources, &["x:1", "x:2"])),
            ("b", listing(List::Resources, &["x:2", "x:3"])),
        ];
        let (routes, notes) = routes(&both);
        let at = |uri: &str| routes.resource(uri);
        assert_eq!(at("x:2"), Found::At("a".into(), Address::Listed));
        assert_eq!(at("x:3"), Found::At("b".into(), Address::Listed));
        assert_eq!(at("x:4"), Found::Nowhere);
        assert!(notes.len() == 1 && notes[0].contains("`x:2` is listed by `a` and by `b`"), "{notes:?}");
        let list = String::from_utf8(routes.pages(List::Resources).first().to_vec()).unwrap();
        assert_eq!(list.matches("x:2\",").count(), 1, "{list}");
    }

    #[test]
    fn what_nobody_listed_goes_by_template_and_then_to_a_sole_server() {
        let (two, _) = routes(&[
            ("a", listing(List::Templates, &["x://{id}"])),
            ("b", listing(List::Templates, &["x://{+id}", "y://{id}"])),
        ]);
        assert_eq!(two.resource("x://1"), Found::At("a".into(), Address::Made));
        assert_eq!(two.resource("x://1/2"), Found::At("b".into(), Address::Made));
        assert_eq!(two.resource("z://1"), Found::Nowhere);
        assert_eq!(two.claimed("y://{id}").map(|name| &**name), Some("b"));
        let (one, _) = routes(&[("a", listing(List::Templates, &["x://{id}"])), ("b", Listing::default())]);
        assert_eq!(one.resource("z://1"), Found::At("a".into(), Address::Made));
    }

    #[test]
    fn prompts_that_clash_are_not_offered() {
        let (routes, notes) =
            routes(&[("a", listing(List::Prompts, &["p", "q"])), ("b", listing(List::Prompts, &["p"]))]);
        assert!(matches!(routes.prompt("p"), Some(Err(why)) if why.contains("prompts of `a` and `b`")));
        assert!(matches!(routes.prompt("q"), Some(Ok((upstream, _))) if &**upstream == "a"));
        assert!(routes.prompt("r").is_none());
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(&routes.pages(List::Prompts).first()[..], br#"{"prompts":[{"name":"q"}]}"#);
    }
}
