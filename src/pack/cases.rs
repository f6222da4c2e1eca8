//! Policy cases: calls with the verdicts they should get, so that a user tests a policy as the packs
//! are tested.
//!
//! A file is a list of rows, or has defaults beside them: `upstream` (who is called), `tools` (what it
//! lists; written out, or in short form `{tool: {argument: string!}}`) and `cases`. A row holds what
//! came before a call and what is accepted. `trial.rs` of the policy judges it; this file only reads.

use serde_json::{Map, Value as Json, json};

use super::check::Checker;
use super::compile::{compile_policy, compile_policy_node};
use super::diagnostic::{Diagnostic, Position, quoted};
use super::jsonc::parse_jsonc;
use super::tree::{Entry, Node, Value, parse_yaml};
use crate::policy::heuristics::ToolDescription;
use crate::policy::{Contract, Locality, RuleSet, UpstreamIdentity};

/// A call of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseCall {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Json,
}

/// Text that a tool showed before the call of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseOutput {
    /// The tool.
    pub tool: String,
    /// The text of its result.
    pub text: String,
}

/// The policy of a case.
#[derive(Debug, Clone)]
pub enum CasePolicy {
    /// None beside what the runner brings.
    None,
    /// One that loads.
    Rules(RuleSet),
    /// One that does not.
    Broken(Vec<Diagnostic>),
}

/// Whether the packs that ship with Bouncer apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CasePacks {
    /// They do.
    #[default]
    Builtin,
    /// They do not.
    None,
}

/// A call with what came before it and what is accepted.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// Where it stands.
    pub at: Position,
    /// Its policy.
    pub policy: CasePolicy,
    /// Whether the packs apply.
    pub packs: CasePacks,
    /// Who is called.
    pub upstream: UpstreamIdentity,
    /// What that upstream lists.
    pub tools: Vec<ToolDescription>,
    /// What the user typed before.
    pub said: Vec<String>,
    /// Calls decided before, in order.
    pub prior_calls: Vec<CaseCall>,
    /// Results shown before; the n-th of a tool belongs to its n-th prior call, if there is one.
    pub prior_outputs: Vec<CaseOutput>,
    /// Destinations a human approved before.
    pub approvals: Vec<String>,
    /// The call.
    pub call: CaseCall,
    /// The verdicts that count as right; `policy error` among them when the policy must not load.
    pub accept: Vec<String>,
    /// The contract that must have decided.
    pub contract: Option<Contract>,
}

const FILE_KEYS: [&str; 4] = ["upstream", "tools", "packs", "cases"];
const ROW_KEYS: [&str; 17] = [
    "id",
    "policy",
    "packs",
    "upstream",
    "tools",
    "said",
    "prior_calls",
    "prior_outputs",
    "approvals",
    "call",
    "accept",
    "contract",
    "why",
    "note",
    "category",
    "group",
    "title",
];
const VERDICTS: [&str; 4] = ["allow", "ask", "deny", "policy error"];

/// Reads a file of cases, YAML or JSON.
///
/// # Errors
/// Every problem of the file. A policy inside a case that does not load is no problem of the file.
pub fn read_cases(text: &str, file: &str) -> Result<Vec<Case>, Vec<Diagnostic>> {
    let json = text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']);
    let root = if json { parse_jsonc(text, file) } else { parse_yaml(text, file) }.whole()?;
    let mut check = Checker::new(file);
    let mut defaults =
        Defaults { upstream: default_upstream(), tools: Vec::new(), packs: CasePacks::default() };
    let rows = if let Value::Seq(rows) = &root.value {
        rows.as_slice()
    } else {
        let rows = defaults.read(&root, &mut check).unwrap_or_default();
        // A bare list comes from elsewhere and may say more than we read; our own form may not.
        for field in rows.iter().flat_map(Node::entries).filter(|f| !ROW_KEYS.contains(&f.key.as_str())) {
            check.unknown_key(field, "in a case", &ROW_KEYS);
        }
        rows
    };
    let cases: Vec<Case> = rows.iter().filter_map(|row| case(row, &defaults, &mut check)).collect();
    if cases.is_empty() && !check.failed() {
        check.error(root.at, "there are no cases in the file", "write them under `cases:`");
    }
    check.finish(cases).map(|(cases, _)| cases)
}

struct Defaults {
    upstream: UpstreamIdentity,
    tools: Vec<ToolDescription>,
    packs: CasePacks,
}

fn default_upstream() -> UpstreamIdentity {
    UpstreamIdentity { name: "server".to_owned(), ..UpstreamIdentity::default() }
}

impl Defaults {
    fn read<'n>(&mut self, root: &'n Node, check: &mut Checker) -> Option<&'n [Node]> {
        let mut rows = None;
        for entry in check.map(root, "a file of cases")? {
            match entry.key.as_str() {
                "upstream" => self.upstream = upstream(&entry.value, check),
                "tools" => self.tools = tools(&entry.value, check),
                "packs" => self.packs = packs(&entry.value, check),
                "cases" => rows = check.list(&entry.value, "`cases`"),
                _ => check.unknown_key(entry, "in a file of cases", &FILE_KEYS),
            }
        }
        rows
    }
}

fn case(row: &Node, defaults: &Defaults, check: &mut Checker) -> Option<Case> {
    let fields = check.map(row, "a case")?;
    let get =
        |key: &str| fields.iter().find(|f| f.key == key).map(|f| &f.value).filter(|n| n.value != Value::Null);
    let id = get("id").and_then(|n| check.string(n, "`id` of a case")).unwrap_or("case").to_owned();
    let what = format!("case {}", quoted(&id));
    let Some(call_node) = get("call") else {
        check.error(row.at, format!("{what} has no `call`"), "write `call: {tool: NAME, args: {}}`");
        return None;
    };
    let call = call(call_node, check)?;
    let accept = accept(get("accept"), row, &what, check)?;
    let contracts = [Contract::Pin, Contract::Budget, Contract::Constraint, Contract::SinkGate];
    let choices = contracts.map(|contract| (contract.as_str(), contract));
    let contract = get("contract").and_then(|n| check.choice(n, &format!("`contract` of {what}"), &choices));
    let mut list =
        |key: &str| get(key).map(|n| (n, check.list(n, &format!("`{key}` of {what}")).unwrap_or_default()));
    let (prior_calls, prior_outputs) = (list("prior_calls"), list("prior_outputs"));
    let (approvals, said) = (list("approvals"), get("said"));
    let items = |found: Option<(&Node, &[Node])>| found.map(|(_, items)| items.to_vec()).unwrap_or_default();
    let (prior_calls, prior_outputs, approvals) =
        (items(prior_calls), items(prior_outputs), items(approvals));
    Some(Case {
        at: row.at,
        policy: policy(get("policy"), &format!("{}, {id}", check.file())),
        packs: get("packs").map_or(defaults.packs, |n| packs(n, check)),
        upstream: get("upstream").map_or_else(|| defaults.upstream.clone(), |n| upstream(n, check)),
        tools: get("tools").map_or_else(|| defaults.tools.clone(), |n| tools(n, check)),
        said: said.map(|n| said_texts(n, check)).unwrap_or_default(),
        prior_calls: prior_calls.iter().filter_map(|n| self::call(n, check)).collect(),
        prior_outputs: prior_outputs.iter().filter_map(|n| output(n, check)).collect(),
        approvals: approvals.iter().filter_map(|n| approval(n, check)).collect(),
        id,
        call,
        accept,
        contract,
    })
}

fn accept(node: Option<&Node>, row: &Node, what: &str, check: &mut Checker) -> Option<Vec<String>> {
    let Some(node) = node else {
        check.error(
            row.at,
            format!("{what} has no `accept`"),
            "write `accept: [allow]`, `[ask]` or `[deny]`",
        );
        return None;
    };
    let mut verdicts = Vec::new();
    for item in check.list(node, &format!("`accept` of {what}"))? {
        let choices = VERDICTS.map(|verdict| (verdict, verdict));
        verdicts.push(check.choice(item, &format!("a verdict of {what}"), &choices)?.to_owned());
    }
    Some(verdicts)
}

fn policy(node: Option<&Node>, place: &str) -> CasePolicy {
    let compiled = match node.map(|n| &n.value) {
        None => return CasePolicy::None,
        Some(Value::String(text)) => compile_policy(text, place),
        Some(_) => match node {
            Some(node) => compile_policy_node(node, place),
            None => return CasePolicy::None,
        },
    };
    match compiled {
        Ok((rules, _)) => CasePolicy::Rules(rules),
        Err(problems) => CasePolicy::Broken(problems),
    }
}

fn packs(node: &Node, check: &mut Checker) -> CasePacks {
    let choices = [("builtin", CasePacks::Builtin), ("none", CasePacks::None)];
    check.choice(node, "`packs`", &choices).unwrap_or_default()
}

fn said_texts(node: &Node, check: &mut Checker) -> Vec<String> {
    if let Value::String(text) = &node.value {
        return vec![text.clone()];
    }
    check.strings(node, "`said`").unwrap_or_default()
}

fn call(node: &Node, check: &mut Checker) -> Option<CaseCall> {
    let tool = node.get("tool").and_then(|n| check.string(n, "`tool` of a call")).map(str::to_owned);
    if tool.is_none() {
        check.error(node.at, "a call names no tool", "write `{tool: NAME, args: {}}`");
    }
    let args = node.get("args").map_or_else(|| json!({}), to_json);
    Some(CaseCall { tool: tool?, args })
}

fn output(node: &Node, check: &mut Checker) -> Option<CaseOutput> {
    let text = match node.get("text").map(|n| &n.value) {
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    };
    let tool = node.get("tool").and_then(|n| check.string(n, "`tool` of a result")).map(str::to_owned);
    let output = tool.zip(text).map(|(tool, text)| CaseOutput { tool, text });
    if output.is_none() {
        check.error(node.at, "a result needs a tool and a text", "write `{tool: NAME, text: TEXT}`");
    }
    output
}

fn approval(node: &Node, check: &mut Checker) -> Option<String> {
    let found = if matches!(node.value, Value::String(_)) { Some(node) } else { node.get("destination") };
    let text = found.and_then(|n| check.string(n, "a destination that was approved"));
    if text.is_none() {
        check.error(node.at, "an approval names no destination", "write the destination");
    }
    text.map(str::to_owned)
}

fn upstream(node: &Node, check: &mut Checker) -> UpstreamIdentity {
    let mut found = default_upstream();
    for entry in check.map(node, "`upstream`").unwrap_or_default() {
        let what = format!("`{}` of `upstream`", entry.key);
        match entry.key.as_str() {
            "name" => check.string(&entry.value, &what).unwrap_or_default().clone_into(&mut found.name),
            "command" => check.string(&entry.value, &what).unwrap_or_default().clone_into(&mut found.command),
            "args" => found.args = check.strings(&entry.value, &what).unwrap_or_default(),
            "host" => found.host = check.string(&entry.value, &what).map(str::to_owned),
            "pack" => found.pack = check.string(&entry.value, &what).map(str::to_owned),
            "local" => {
                if check.boolean(&entry.value, &what) == Some(true) {
                    found.local = Locality::Local;
                }
            }
            _ => {
                check.unknown_key(
                    entry,
                    "in `upstream`",
                    &["name", "command", "args", "host", "pack", "local"],
                );
            }
        }
    }
    found
}

/// Tools written out as a server lists them, or in short form.
fn tools(node: &Node, check: &mut Checker) -> Vec<ToolDescription> {
    let entries: Vec<(Position, Json)> = match &node.value {
        Value::Seq(items) => items.iter().map(|item| (item.at, to_json(item))).collect(),
        Value::Map(entries) => entries.iter().map(|entry| (entry.at, short(entry))).collect(),
        _ => {
            check.wrong_type(node, "`tools`", "a list of tools or a mapping");
            return Vec::new();
        }
    };
    let mut tools = Vec::with_capacity(entries.len());
    for (at, entry) in entries {
        match ToolDescription::from_entry(&entry) {
            Ok(tool) => tools.push(tool),
            Err(fault) => check.error(at, fault.to_string(), "write the tool as `tools/list` shows it"),
        }
    }
    tools
}

/// `{tool: {argument: string!}}` as an entry of `tools/list`: `!` marks what is required, `[string]` a
/// list; anything else than a word is taken as the argument's schema.
fn short(entry: &Entry) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for argument in entry.value.entries() {
        let schema = match &argument.value.value {
            Value::String(word) => {
                let plain = word.trim_end_matches('!');
                if plain != word {
                    required.push(json!(argument.key));
                }
                match plain.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
                    Some(item) => json!({"type": "array", "items": {"type": item}}),
                    None => json!({"type": plain}),
                }
            }
            _ => to_json(&argument.value),
        };
        properties.insert(argument.key.clone(), schema);
    }
    json!({
        "name": entry.key,
        "inputSchema": {"type": "object", "properties": properties, "required": required},
    })
}

/// A node as JSON; a number that JSON cannot hold becomes its text.
fn to_json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(b) => json!(b),
        Value::Int(i) => json!(i),
        Value::Float(f) => {
            f.parse::<f64>().ok().filter(|n| n.is_finite()).map_or_else(|| json!(f), |number| json!(number))
        }
        Value::String(s) => json!(s),
        Value::Seq(items) => Json::Array(items.iter().map(to_json).collect()),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|e| (e.key.clone(), to_json(&e.value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
upstream: {name: mail, command: npx, args: [-y, mail-mcp]}
tools:
  send: {to: '[string]!', body: string}
cases:
  - id: first
    policy: |
      send: {max_calls: 1}
    said: mail ana
    prior_calls: [{tool: send, args: {to: [a]}}]
    prior_outputs: [{tool: send, text: ok}]
    approvals: [ana@corp.com, {tool: send, param: to, destination: bob@corp.com}]
    call: {tool: send, args: {to: [ana@corp.com], n: 1.5}}
    accept: [allow, ask]
    contract: budget
";

    #[test]
    fn a_file_has_defaults_and_rows() {
        let cases = read_cases(FILE, "f").unwrap();
        let case = &cases[0];
        assert_eq!((case.id.as_str(), case.upstream.args.len(), case.said.len()), ("first", 2, 1));
        assert_eq!(case.tools[0].input_schema["required"], json!(["to"]));
        assert_eq!(case.tools[0].input_schema["properties"]["to"]["items"]["type"], "string");
        assert_eq!(case.approvals, ["ana@corp.com", "bob@corp.com"]);
        assert_eq!(case.call.args, json!({"to": ["ana@corp.com"], "n": 1.5}));
        assert_eq!(case.contract, Some(Contract::Budget));
        assert!(matches!(&case.policy, CasePolicy::Rules(rules) if rules.rules.len() == 1));
    }

    #[test]
    fn rows_of_the_vectors_are_cases() {
        let text = r#"[{"id": "x", "category": "c", "policy": "hello\n", "tools": [{"name": "t"}],
            "prior_outputs": [], "approvals": [], "prior_calls": [], "packs": "none", "note": "n",
            "call": {"tool": "t", "args": {}}, "accept": ["policy error"]}]"#;
        let cases = read_cases(text, "f").unwrap();
        assert!(matches!(cases[0].policy, CasePolicy::Broken(_)));
        assert_eq!(cases[0].packs, CasePacks::None);
    }

    #[test]
    fn what_is_no_case_says_so() {
        let check = |text: &str, expected: &str| {
            let problems = read_cases(text, "f").unwrap_err();
            let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
            assert!(shown.iter().any(|p| p.contains(expected)), "{text}\n{shown:?}");
        };
        check("cases: []", "there are no cases");
        check("cases: [{id: a, accept: [allow]}]", "case `a` has no `call`");
        check("cases: [{id: a, call: {tool: t}}]", "case `a` has no `accept`");
        check("cases: [{id: a, call: {tool: t}, accept: [alow]}]", "help: write `allow`");
        check("cases: [{id: a, cal: {tool: t}, accept: [ask]}]", "unknown key `cal` in a case");
        check("cases: [{id: a, call: {args: {}}, accept: [ask]}]", "a call names no tool");
        check("caes: []", "unknown key `caes`");
    }

    #[test]
    fn the_cases_of_every_pack_read() {
        for shipped in super::super::SHIPPED {
            let file = shipped.file.replace(".yaml", ".cases.yaml");
            if let Err(problems) = read_cases(shipped.cases, &file) {
                panic!("{problems:#?}");
            }
        }
    }
}
