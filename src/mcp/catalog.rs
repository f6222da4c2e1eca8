//! The catalogue: what all upstreams listed, and which exported name stands for which tool of which.
//!
//! An entry keeps the tool exactly as its upstream listed it, for pins and policies, beside the copy
//! that clients are shown. Names are resolved by table only, never by splitting; two tools that claim
//! one name are both refused, so that no order of start decides who gets a call. `routes.rs` does the same
//! for resources and prompts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use crate::provenance::escaped as escape;

use super::capability::Capabilities;
use super::entry::Entry;
use super::listing::List;
use super::method::Method;
use super::page::Pages;
use super::routes::{Found, Routes};
use super::scan;

/// Clashes that are told.
const CLASHES: usize = 1_000;

/// One tool of one upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// The configured name of the upstream.
    pub upstream: Arc<str>,
    /// The tool's own name at its upstream.
    pub name: Arc<str>,
    /// The name clients see.
    pub exported: Arc<str>,
    /// The entry of `tools/list` as the upstream sent it: a raw JSON object.
    pub listed: Bytes,
    /// The entry as clients see it: exported name, and a schema that no client rejects.
    pub shown: Bytes,
}

/// What one upstream listed, as the gate admitted it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The tools in the order listed, each name once.
    pub tools: Vec<Arc<Tool>>,
    /// Those that are not shown, by their own names, with the reason.
    pub withheld: BTreeMap<Arc<str>, String>,
    /// Those of the withheld that clients which can ask see all the same, in the words of before: the
    /// first call asks about the new ones.
    pub reworded: BTreeMap<Arc<str>, Arc<Tool>>,
    /// What it declared.
    pub capabilities: Capabilities,
    /// Its other lists, as far as they are known.
    pub lists: BTreeMap<List, Arc<[Arc<Entry>]>>,
}

impl Listing {
    /// Takes a list other than the tools in place of the earlier one.
    pub fn set(&mut self, list: List, entries: Arc<[Arc<Entry>]>) {
        self.lists.insert(list, entries);
    }

    /// The entries of such a list; none while it is not known.
    pub fn entries(&self, list: List) -> &[Arc<Entry>] {
        self.lists.get(&list).map(|entries| &**entries).unwrap_or_default()
    }

    /// Whether a list is known: it came, or is not offered.
    fn knows(&self, list: List) -> bool {
        list == List::Tools || !self.capabilities.has(list.capability()) || self.lists.contains_key(&list)
    }
}

/// How an upstream stands. What it listed before stays listed while it is away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It has not listed its tools yet, and may.
    Starting,
    /// It has listed its tools.
    Ready(Arc<Listing>),
    /// It is away, with the reason in our own words.
    Down(String),
}

/// What an exported name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// A tool that may be called.
    Tool(Arc<Tool>),
    /// A tool that the gate holds back: it is judged, so that the refusal has the gate's words.
    Withheld(Arc<Tool>),
    /// Nothing may be called by this name, for a reason that is told to the model.
    Refused(String),
    /// No upstream ever listed it.
    Unknown,
}

#[derive(Debug)]
struct Shelf {
    name: Arc<str>,
    prefix: Arc<str>,
    standing: Standing,
    listing: Option<Arc<Listing>>,
}

#[derive(Debug)]
enum Slot {
    Shown(Arc<Tool>),
    Withheld(Arc<Tool>),
    Clash(Arc<Tool>, Arc<Tool>),
}

/// All tools of all upstreams.
#[derive(Debug)]
pub struct Catalog {
    shelves: Vec<Shelf>,
    table: BTreeMap<Arc<str>, Slot>,
    tools: Arc<Pages>,
    routes: Routes,
    /// Clashes that the operator was told of.
    told: BTreeSet<String>,
    shows: Shows,
}

/// Whether tools are shown that are asked about before they are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shows {
    /// They are withheld: nobody can be asked.
    #[default]
    Accepted,
    /// They are shown in the words of before.
    AlsoReworded,
}

impl Tool {
    /// What stands for a request that is no tool call: its method's name, and nothing listed.
    pub fn standing_for(method: Method, upstream: Arc<str>) -> Self {
        let name: Arc<str> = method.name().into();
        Self { upstream, exported: name.clone(), name, listed: Bytes::new(), shown: Bytes::new() }
    }

    /// The tool as it was described before: clients are shown these words in place of its own.
    #[must_use]
    pub fn described_as(&self, words: &str) -> Self {
        let mut shown = Vec::with_capacity(self.shown.len());
        let words = serde_json::Value::from(words).to_string();
        let edits: Vec<_> = scan::member(&self.shown, "description").into_iter().collect();
        let edits: Vec<_> = edits.into_iter().map(|span| (span, words.as_bytes())).collect();
        scan::splice(&self.shown, &edits, &mut shown);
        Self { shown: shown.into(), ..self.clone() }
    }
}

impl Catalog {
    /// An empty catalogue of these upstreams, given as name and prefix in the order in which their
    /// tools are to be listed.
    pub fn new(upstreams: impl IntoIterator<Item = (Arc<str>, Arc<str>)>) -> Self {
        let shelves = upstreams
            .into_iter()
            .map(|(name, prefix)| Shelf { name, prefix, standing: Standing::Starting, listing: None })
            .collect();
        let mut new = Self {
            shelves,
            table: BTreeMap::new(),
            tools: Arc::default(),
            routes: Routes::default(),
            told: BTreeSet::new(),
            shows: Shows::default(),
        };
        new.rebuild();
        new
    }

    /// Notes how an upstream stands now. Returns what the operator should know of clashes.
    pub fn set(&mut self, upstream: &str, standing: Standing) -> Vec<String> {
        let Some(place) = self.shelves.iter_mut().find(|place| &*place.name == upstream) else {
            return Vec::new();
        };
        let listing = match &standing {
            Standing::Ready(listing) => Some(listing.clone()),
            Standing::Starting | Standing::Down(_) => None,
        };
        place.standing = standing;
        let Some(listing) = listing else { return Vec::new() };
        if place.listing.as_ref() == Some(&listing) {
            return Vec::new();
        }
        place.listing = Some(listing);
        self.rebuild()
    }

    /// Sets what is shown, once the client has said what it can do.
    pub fn show(&mut self, shows: Shows) {
        if self.shows != shows {
            self.shows = shows;
            // The clashes are those that were told before.
            self.rebuild();
        }
    }

    /// Whether no upstream is still on its way to this list.
    pub fn is_settled(&self, list: List) -> bool {
        self.shelves.iter().all(|shelf| match (&shelf.listing, &shelf.standing) {
            (_, Standing::Down(_)) => true,
            (Some(listing), _) => listing.knows(list),
            (None, _) => false,
        })
    }

    /// The results of a list request, page by page.
    pub(crate) fn pages(&self, list: List) -> Arc<Pages> {
        if list == List::Tools { self.tools.clone() } else { self.routes.pages(list) }
    }

    /// What a uri stands for.
    pub fn resource(&self, uri: &str) -> Found {
        self.routes.resource(uri)
    }

    /// The upstream that listed a uri, or a template, exactly so.
    pub fn claimed(&self, uri: &str) -> Option<&Arc<str>> {
        self.routes.claimed(uri)
    }

    /// The upstream and entry of an exported prompt; `Err` with why there is none.
    ///
    /// # Errors
    /// Two upstreams claim the name, nobody listed it, or who may is not there.
    pub fn prompt(&self, exported: &str) -> Result<(Arc<str>, Arc<Entry>), String> {
        match self.routes.prompt(exported) {
            Some(Ok((upstream, prompt))) => Ok((upstream.clone(), prompt.clone())),
            Some(Err(why)) => Err(why.to_owned()),
            None => Err(match self.absent(exported, List::Prompts) {
                Resolved::Refused(why) => why,
                _ => format!("unknown prompt `{}`", escape(exported, 80)),
            }),
        }
    }

    /// Whether any upstream that is known offers what a list is of.
    pub(crate) fn offers(&self, list: List) -> bool {
        let listings = self.shelves.iter().filter_map(|shelf| shelf.listing.as_ref());
        listings.into_iter().any(|listing| listing.capabilities.has(list.capability()))
    }

    /// What an exported name stands for.
    pub fn resolve(&self, exported: &str) -> Resolved {
        match self.table.get(exported) {
            Some(Slot::Shown(tool)) => Resolved::Tool(tool.clone()),
            Some(Slot::Withheld(tool)) => Resolved::Withheld(tool.clone()),
            Some(Slot::Clash(a, b)) => {
                Resolved::Refused(two_claim("tools", &a.exported, (&a.upstream, &b.upstream)))
            }
            None => self.absent(exported, List::Tools),
        }
    }

    /// Why a name is not in the table. The upstream is guessed from the name, for the text alone.
    fn absent(&self, exported: &str, list: List) -> Resolved {
        let guess = self.shelves.iter().find(|shelf| {
            shelf.listing.as_ref().is_none_or(|listing| !listing.knows(list))
                && exported.strip_prefix(&*shelf.prefix).is_some_and(|rest| rest.starts_with("__"))
        });
        match guess.map(|shelf| (&shelf.name, &shelf.standing)) {
            Some((name, Standing::Starting)) => Resolved::Refused(format!(
                "The server `{}` is still starting, so its {} cannot be used yet. Try again in a few seconds.",
                escape(name, 80),
                list.key()
            )),
            Some((name, Standing::Down(why))) => Resolved::Refused(format!(
                "The server `{}` is not available: {why}. Trying again will not help until the user has mended it.",
                escape(name, 80)
            )),
            Some((_, Standing::Ready(_))) | None => Resolved::Unknown,
        }
    }

    fn rebuild(&mut self) -> Vec<String> {
        let mut table: BTreeMap<Arc<str>, Slot> = BTreeMap::new();
        let mut notes = Vec::new();
        for listing in self.shelves.iter().filter_map(|shelf| shelf.listing.as_ref()) {
            for tool in &listing.tools {
                let slot = match table.remove(&tool.exported) {
                    Some(Slot::Shown(other) | Slot::Withheld(other) | Slot::Clash(other, _)) => {
                        notes.push(clash(&other, tool));
                        Slot::Clash(other, tool.clone())
                    }
                    None if listing.withheld.contains_key(&tool.name) => {
                        match listing.reworded.get(&tool.name) {
                            Some(reworded) if self.shows == Shows::AlsoReworded => {
                                Slot::Shown(reworded.clone())
                            }
                            _ => Slot::Withheld(tool.clone()),
                        }
                    }
                    None => Slot::Shown(tool.clone()),
                };
                table.insert(tool.exported.clone(), slot);
            }
        }
        self.table = table;
        let shown = self.shelves.iter().filter_map(|shelf| shelf.listing.as_ref());
        let shown = shown.flat_map(|listing| &listing.tools);
        let shown = shown.filter_map(|tool| match self.table.get(&tool.exported) {
            Some(Slot::Shown(tool)) => Some(tool),
            _ => None,
        });
        self.tools = Arc::new(Pages::new(List::Tools, shown.map(|tool| &tool.shown)));
        let listings =
            self.shelves.iter().filter_map(|shelf| Some((&shelf.name, &**shelf.listing.as_ref()?)));
        let (routes, clashes) = Routes::new(listings);
        self.routes = routes;
        notes.extend(clashes);
        notes.retain(|note| self.told.len() < CLASHES && self.told.insert(note.clone()));
        notes
    }
}

/// Why nothing is offered under a name that two claim, for the model: in the names that the user and we gave.
pub(crate) fn two_claim(what: &str, exported: &str, upstreams: (&str, &str)) -> String {
    let (exported, a, b) = (escape(exported, 64), escape(upstreams.0, 64), escape(upstreams.1, 64));
    let whose = if a == b { format!("two {what} of `{a}`") } else { format!("{what} of `{a}` and `{b}`") };
    format!(
        "the exported name `{exported}` is claimed by {whose}; neither is offered until the user gives one of \
         the servers another `prefix`"
    )
}

/// The same for the operator, with the names that the upstreams gave.
fn clash(a: &Tool, b: &Tool) -> String {
    format!(
        "the exported name `{}` is claimed by tool `{}` of `{}` and by tool `{}` of `{}`; neither is offered until \
         one of the servers gets another `prefix`",
        escape(&a.exported, 80),
        escape(&a.name, 80),
        escape(&a.upstream, 80),
        escape(&b.name, 80),
        escape(&b.upstream, 80)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(upstreams: &[&str]) -> Catalog {
        Catalog::new(upstreams.iter().map(|name| ((*name).into(), (*name).into())))
    }

    fn tool(upstream: &str, name: &str, exported: &str) -> Arc<Tool> {
        let shown = format!("{{\"name\":\"{exported}\"}}").into();
        Arc::new(Tool {
            upstream: upstream.into(),
            name: name.into(),
            exported: exported.into(),
            listed: Bytes::new(),
            shown,
        })
    }

    fn ready(tools: &[Arc<Tool>], withheld: &[&str]) -> Standing {
        let withheld = withheld.iter().map(|name| ((*name).into(), "drift".to_owned())).collect();
        Standing::Ready(Arc::new(Listing { tools: tools.to_vec(), withheld, ..Listing::default() }))
    }

    #[test]
    fn the_order_is_that_of_the_configuration_whoever_comes_first() {
        let mut catalog = catalog(&["x", "y"]);
        assert!(!catalog.is_settled(List::Tools));
        catalog.set("y", ready(&[tool("y", "search", "y__search")], &[]));
        catalog.set("x", ready(&[tool("x", "search", "x__search")], &[]));
        assert!(catalog.is_settled(List::Tools));
        assert_eq!(
            &catalog.pages(List::Tools).first()[..],
            br#"{"tools":[{"name":"x__search"},{"name":"y__search"}]}"#
        );
        catalog.set("y", Standing::Down("it stopped".to_owned()));
        assert!(matches!(catalog.resolve("y__search"), Resolved::Tool(tool) if &*tool.upstream == "y"));
    }

    #[test]
    fn a_clash_names_both_and_shadows_neither() {
        for order in [["a", "b"], ["b", "a"]] {
            let mut catalog = catalog(&["a", "b"]);
            let mut notes = Vec::new();
            for name in order {
                notes = catalog.set(name, ready(&[tool(name, &format!("t{name}"), "same")], &[]));
            }
            assert!(notes[0].contains("`ta` of `a`") && notes[0].contains("`tb` of `b`"), "{notes:?}");
            let Resolved::Refused(why) = catalog.resolve("same") else { panic!("it is offered") };
            assert!(why.contains("claimed by tools of `a` and `b`") && !why.contains("`ta`"), "{why}");
            assert_eq!(&catalog.pages(List::Tools).first()[..], b"{\"tools\":[]}");
        }
    }

    #[test]
    fn a_withheld_tool_is_not_shown_but_known() {
        let mut catalog = catalog(&["a"]);
        catalog.set("a", ready(&[tool("a", "t", "a__t"), tool("a", "u", "a__u")], &["t"]));
        assert_eq!(&catalog.pages(List::Tools).first()[..], br#"{"tools":[{"name":"a__u"}]}"#);
        assert!(matches!(catalog.resolve("a__t"), Resolved::Withheld(_)));
        assert_eq!(catalog.resolve("a__never"), Resolved::Unknown);
    }

    #[test]
    fn a_missing_upstream_says_why() {
        let mut catalog = catalog(&["a", "b"]);
        assert!(matches!(catalog.resolve("a__t"), Resolved::Refused(why) if why.contains("still starting")));
        catalog.set("a", Standing::Down("its program was not found".to_owned()));
        assert!(matches!(catalog.resolve("a__t"), Resolved::Refused(why) if why.contains("not found")));
        assert_eq!(catalog.resolve("other"), Resolved::Unknown);
    }
}
