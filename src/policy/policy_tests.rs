//! Layering as data: what a user, a pack and the heuristics say, and what comes out.

use std::sync::Arc;

use serde_json::{Value, json};

use super::constraint::{Bound as Folder, Pattern, Test};
use super::heuristics::ToolDescription;
use super::*;
use crate::provenance::TrustRule;

fn describe(name: &str, properties: &Value) -> ToolDescription {
    let schema = json!({"type": "object", "properties": properties});
    ToolDescription::from_entry(&json!({"name": name, "inputSchema": schema})).unwrap()
}

fn upstream() -> UpstreamIdentity {
    UpstreamIdentity { name: "server".into(), ..UpstreamIdentity::default() }
}

fn rule(key: &str, fill: impl FnOnce(&mut Rule)) -> Rule {
    let mut rule = Rule::new(key);
    fill(&mut rule);
    rule
}

fn set(rules: Vec<Rule>) -> RuleSet {
    RuleSet { rules, ..RuleSet::default() }
}

fn mail_pack() -> Arc<Pack> {
    let send = rule("send_email", |r| {
        r.effect = Some(Effect::Send);
        for arg in ["to", "cc", "bcc"] {
            r.args.insert(ArgPath(arg.into()), (Role::Destination, None));
        }
    });
    let odd = rule("fetch_labels", |r| {
        r.effect = Some(Effect::Read);
        r.args.insert(ArgPath("url".into()), (Role::Selector, None));
    });
    Arc::new(Pack {
        name: "mail".into(),
        binding: Binding { packages: vec!["mail-mcp".into()], ..Binding::default() },
        locality: Locality::Local,
        rules: set(vec![send, odd]),
    })
}

#[test]
fn a_user_entry_extends_and_only_replace_replaces() {
    let user = rule("send_email", |r| r.trusted.push(TrustRule::parse("ok@corp.com").unwrap()));
    let policy = Policy::new(vec![set(vec![user])], vec![mail_pack()]);
    let tool = policy.tool_policy(&upstream(), &describe("send_email", &json!({"to": {}, "BCC": {}})));
    assert_eq!((tool.effect, tool.gate), (Effect::Send, Gate::On));
    assert_eq!(tool.role_of("BCC"), Some(Role::Destination));
    assert_eq!(tool.role_of("bcc[].address"), Some(Role::Destination));
    assert_eq!(tool.trusted.len(), 1);

    let replaced = rule("send_email", |r| r.extent = Extent::Replaces);
    let policy = Policy::new(vec![set(vec![replaced])], vec![mail_pack()]);
    let tool = policy.tool_policy(&upstream(), &describe("send_email", &json!({"to": {}})));
    assert_eq!((tool.effect, tool.args.len()), (Effect::Write, 0));
}

#[test]
fn a_pack_bound_by_name_only_restricts() {
    let policy = Policy::new(Vec::new(), vec![mail_pack()]);
    let description = describe("fetch_labels", &json!({"url": {"type": "string"}}));
    let stranger = policy.tool_policy(&upstream(), &description);
    assert_eq!((stranger.effect, stranger.locality), (Effect::Fetch, Locality::Elsewhere));
    assert_eq!(stranger.role_of("url"), Some(Role::Destination));
    let bound = UpstreamIdentity { command: "mail-mcp".into(), ..upstream() };
    let own = policy.tool_policy(&bound, &description);
    assert_eq!((own.effect, own.locality), (Effect::Read, Locality::Local));
    assert_eq!(own.role_of("url"), Some(Role::Selector));
    assert_eq!(own.packs, [("mail".to_owned(), Bound::ByConfig)]);
}

#[test]
fn budgets_come_from_the_highest_layer_that_sets_one() {
    let budget = |rules: Vec<Rule>, name: &str| {
        let policy = Policy::new(vec![set(rules)], Vec::new());
        let tool = policy.tool_policy(&upstream(), &describe(name, &json!({"id": {}})));
        tool.budget.map(|b| (b.max_calls, b.layer))
    };
    let calls = |allowance: Allowance| rule("remove_item", |r| r.allowance = Some(allowance));
    assert_eq!(budget(Vec::new(), "remove_item"), Some((2, Layer::Heuristic)));
    assert_eq!(budget(vec![rule("remove_item", |_| {})], "remove_item"), Some((2, Layer::Heuristic)));
    assert_eq!(budget(vec![calls(Allowance::Calls(9))], "remove_item"), Some((9, Layer::User)));
    assert_eq!(budget(vec![calls(Allowance::Unlimited)], "remove_item"), None);
    assert_eq!(budget(Vec::new(), "confirm_order"), None);
    assert_eq!(budget(Vec::new(), "get_form_schema"), None);
    assert_eq!(budget(Vec::new(), "dropbox_list_folder"), None);
}

#[test]
fn the_most_specific_entry_is_on_top() {
    let rules = vec![
        rule("server.browser_click", |r| r.allowance = Some(Allowance::Calls(1))),
        rule("browser_*", |r| r.allowance = Some(Allowance::Calls(7))),
        rule("other.browser_click", |r| r.allowance = Some(Allowance::Calls(9))),
    ];
    let policy = Policy::new(vec![set(rules)], Vec::new());
    let max =
        |name: &str| policy.tool_policy(&upstream(), &describe(name, &json!({}))).budget.map(|b| b.max_calls);
    assert_eq!((max("browser_click"), max("browser_type")), (Some(1), Some(7)));
}

#[test]
fn exfiltrating_makes_a_sink_and_unmakes_one() {
    let effect = |fill: fn(&mut Rule), name: &str| {
        let policy = Policy::new(vec![set(vec![rule(name, fill)])], Vec::new());
        let tool = policy.tool_policy(&upstream(), &describe(name, &json!({"a": {}})));
        (tool.effect, tool.gate)
    };
    assert_eq!(effect(|r| r.gate = Some(Gate::On), "frobnicate"), (Effect::Send, Gate::On));
    assert_eq!(effect(|r| r.names_sinks = SinkNames::Given, "frobnicate"), (Effect::Send, Gate::On));
    assert_eq!(effect(|r| r.gate = Some(Gate::Off), "send_mail"), (Effect::Send, Gate::Off));
    assert_eq!(effect(|_| {}, "frobnicate"), (Effect::Write, Gate::On));
}

#[test]
fn folders_confine_the_arguments_of_every_layer() {
    let confine = |r: &mut Rule| r.bounds = Some(vec![Folder::new("/w").unwrap()]);
    let paths = |rules: Vec<Rule>, properties: Value| {
        let policy = Policy::new(vec![set(rules)], Vec::new());
        let tool = policy.tool_policy(&upstream(), &describe("write_file", &properties));
        let of_paths = tool.constraints.iter().filter(|c| matches!(c.test, Test::Path(_)));
        of_paths.map(|c| c.argument.0.clone()).collect::<Vec<_>>()
    };
    let named = rule("write_file", |r| {
        confine(r);
        r.path_args = Some(vec![ArgPath("target".into())]);
    });
    assert_eq!(paths(vec![named], json!({"target": {}, "x": {}})), ["target"]);
    assert_eq!(paths(vec![rule("write_file", confine)], json!({"path": {}, "content": {}})), ["path"]);
    assert_eq!(paths(vec![rule("write_file", confine)], json!({"zzz": {}})), ["path"]);
}

#[test]
fn an_allowed_value_of_the_user_vouches_and_a_pattern_does_not() {
    let with = |test: Test| {
        let user = rule("send_note", |r| {
            r.effect = Some(Effect::Send);
            r.args.insert(ArgPath("room".into()), (Role::Destination, None));
            r.tests.push((ArgPath("room".into()), test));
        });
        let policy = Policy::new(vec![set(vec![user])], Vec::new());
        let tool = policy.tool_policy(&upstream(), &describe("send_note", &json!({"room": {}})));
        let arguments = json!({"room": "lobby"});
        let found = crate::provenance::extract(&arguments, &|_| crate::provenance::Standing::Authority(None));
        found.destinations.iter().map(|d| tool.vouches(d, &arguments)).next().unwrap()
    };
    let one_of = Test::OneOf(vec![constraint::AllowedValue::Text("lobby".into())]);
    assert_eq!(with(one_of), Some("lobby".into()));
    assert_eq!(with(Test::Pattern(Pattern::new("l.*").unwrap())), None);
}

#[test]
fn an_addressed_call_is_a_sink_and_an_unaddressed_one_a_write() {
    let policy = Policy::default();
    let tool = policy.tool_policy(
        &upstream(),
        &describe("create_calendar_event", &json!({"title": {}, "participants": {"type": "array"}})),
    );
    assert_eq!(tool.effect_of(&json!({"title": "x", "participants": ["a@b.c"]})), Effect::Send);
    assert_eq!(tool.effect_of(&json!({"title": "x", "participants": []})), Effect::Write);
    assert_eq!(tool.effect_of(&json!({"title": "x"})), Effect::Write);
}

#[test]
fn a_policy_that_refuses_all_refuses_every_tool() {
    let policy = Policy::refuse_all("p.yaml:1:1");
    let tool = policy.tool_policy(&upstream(), &describe("get_time", &json!({})));
    assert_eq!(tool.refused.as_deref(), Some("p.yaml:1:1"));
}

#[test]
fn a_rule_for_many_tools_leaves_those_alone_that_it_does_not_fit() {
    let rules = vec![rule("*", |r| {
        r.bounds = Some(vec![Folder::new("/w").unwrap()]);
        r.args.insert(ArgPath("to".into()), (Role::Destination, None));
        r.names_sinks = SinkNames::Given;
        r.tests.push((ArgPath("table".into()), Test::Pattern(Pattern::new("[a-z]+").unwrap())));
    })];
    let policy = Policy::new(vec![set(rules)], Vec::new());
    let outcome = |name: &str, properties: Value, arguments: Value| {
        let tool = policy.tool_policy(&upstream(), &describe(name, &properties));
        let around = Surroundings { cwd: None, home: None, own: &[] };
        let failures = tool.failures(&[tool.effect], &arguments, around, &|_| None);
        (tool.effect, failures.into_iter().map(|f| f.outcome).max())
    };
    let deny = Some(Outcome::Deny);
    assert_eq!(outcome("get_time", json!({"tz": {}}), json!({"tz": "UTC"})), (Effect::Read, None));
    assert_eq!(outcome("frobnicate", json!({"mode": {}}), json!({"mode": "/etc/x"})), (Effect::Write, deny));
    assert_eq!(outcome("write_file", json!({"path": {}}), json!({"path": "/etc/x"})), (Effect::Write, deny));
    assert_eq!(outcome("write_file", json!({"path": {}}), json!({"path": "/w/x"})), (Effect::Write, None));
    assert_eq!(outcome("count", json!({"table": {}}), json!({"table": "A"})).1, deny);
    assert_eq!(outcome("frobnicate", json!({"to": {}}), json!({"to": "x"})).0, Effect::Send);
}

/// Any rule a pack could hold about a tool `touch` with the arguments `to`, `body` and `limit`.
fn any_rule() -> impl proptest::strategy::Strategy<Value = Rule> {
    use proptest::prelude::*;
    let roles = prop::sample::select(vec![
        Role::Destination,
        Role::Target,
        Role::Path,
        Role::Command,
        Role::Amount,
        Role::Content,
        Role::Credential,
        Role::Selector,
    ]);
    let args =
        prop::collection::btree_map(prop::sample::select(vec!["to", "body", "limit", "gone"]), roles, 0..4);
    let effect = prop::option::of(prop::sample::select(Effect::ALL.to_vec()));
    let gate = prop::option::of(prop::sample::select(vec![Gate::On, Gate::Off]));
    let calls =
        prop::option::of(prop_oneof![(0u32..9).prop_map(Allowance::Calls), Just(Allowance::Unlimited)]);
    (args, effect, gate, calls, any::<bool>()).prop_map(|(args, effect, gate, allowance, replaces)| {
        rule("touch", |r| {
            r.args = args.into_iter().map(|(name, role)| (ArgPath(name.into()), (role, None))).collect();
            (r.effect, r.gate, r.allowance) = (effect, gate, allowance);
            r.extent = if replaces { Extent::Replaces } else { Extent::Extends };
            r.trusted.push(TrustRule::parse("evil.test").unwrap());
        })
    })
}

proptest::proptest! {
    #[test]
    fn a_pack_bound_by_name_never_loosens(rule in any_rule(), name in "(touch|send_touch|delete_touch|get_touch)") {
        let mut rule = rule;
        rule.key = ToolKey::new(&name);
        let description = describe(&name, &json!({"to": {}, "body": {}, "limit": {}}));
        let without = Policy::default().tool_policy(&upstream(), &description);
        let pack = Pack {
            name: "p".into(),
            binding: Binding::default(),
            locality: Locality::Local,
            rules: set(vec![rule]),
        };
        let with = Policy::new(Vec::new(), vec![Arc::new(pack)]).tool_policy(&upstream(), &description);
        let sinks = |tool: &ToolPolicy| tool.effect.is_sink() || tool.also.iter().any(|(effect, _)| effect.is_sink());
        proptest::prop_assert!(!without.effect.is_sink() || with.effect.is_sink());
        proptest::prop_assert!(!sinks(&without) || sinks(&with));
        proptest::prop_assert_eq!(with.gate, Gate::On);
        proptest::prop_assert_eq!(with.locality, without.locality);
        proptest::prop_assert!(with.trusted.is_empty());
        for arg in without.with_role(Role::Destination) {
            proptest::prop_assert_eq!(with.role_of(&arg.path.0), Some(Role::Destination));
        }
        let most = |tool: &ToolPolicy| tool.budget.map_or(u32::MAX, |budget| budget.max_calls);
        proptest::prop_assert!(most(&with) <= most(&without));
    }
}
