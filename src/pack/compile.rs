//! From the tree of a policy file or pack to rules, collecting every problem.
//!
//! A policy file is flat (tool to entry, the reference format) or has the keys of `raw::FILE`. Nothing
//! in it is skipped: what is not understood is an error, since a rule that silently does nothing is
//! worse than none. `entry.rs` reads one entry.

use serde_json_path::JsonPath;

use crate::policy::{Binding, Glob, Locality, OwnData, Pack, Rule, RuleSet, ToolKey};
use crate::provenance::TrustRule;

use super::check::Checker;
use super::diagnostic::{Diagnostic, quoted};
use super::entry;
use super::raw::{self, names};
use super::tree::{Entry, Node, Value, parse_yaml};

/// Compiles the text of a policy file. `file` is its name for messages.
///
/// # Errors
/// Every problem of the file, warnings among them.
pub fn compile_policy(text: &str, file: &str) -> Result<(RuleSet, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut check = Checker::new(file);
    let root = check.tree(parse_yaml(text, file));
    let rules = root.map(|root| policy(&root, &mut check)).unwrap_or_default();
    check.finish(rules)
}

/// Compiles a policy that stands inside another file.
///
/// # Errors
/// As [`compile_policy`].
pub fn compile_policy_node(root: &Node, file: &str) -> Result<(RuleSet, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut check = Checker::new(file);
    let rules = policy(root, &mut check);
    check.finish(rules)
}

fn policy(root: &Node, check: &mut Checker) -> RuleSet {
    let mut rules = RuleSet::default();
    if let Some(entries) = check.map(root, "a policy") {
        let known = names(raw::FILE);
        let sectioned = |e: &Entry| known.contains(&e.key.as_str());
        if entries.iter().any(sectioned) {
            for entry in entries {
                section(entry, &known, check, &mut rules);
            }
        } else {
            rules.rules = tools(entries, check);
        }
    }
    rules
}

fn section(entry: &Entry, known: &[&str], check: &mut Checker, rules: &mut RuleSet) {
    match entry.key.as_str() {
        "tools" => {
            if let Some(entries) = check.map(&entry.value, "`tools`") {
                rules.rules.extend(tools(entries, check));
            }
        }
        "own_data" => rules.own_data.extend(own_data(&entry.value, Named::UpstreamAndTool, check)),
        "trusted_destinations" => rules.trusted.extend(trusted(&entry.value, check)),
        "local" => {
            let upstreams = check.strings(&entry.value, "`local`").unwrap_or_default();
            rules.local.extend(upstreams.iter().map(|name| Glob::new(name)));
        }
        "sampling" => {
            let upstreams = check.strings(&entry.value, "`sampling`").unwrap_or_default();
            rules.sampling.extend(upstreams.iter().map(|name| Glob::new(name)));
        }
        "budgets" => {
            for budget in check.map(&entry.value, "`budgets`").unwrap_or_default() {
                let mut rule = Rule::new(&budget.key);
                rule.allowance =
                    entry::allowance(&budget.value, &format!("budget of {}", quoted(&budget.key)), check);
                rules.rules.push(rule);
            }
        }
        _ => {
            let looks_like_a_tool = matches!(entry.value.value, Value::Map(_));
            if looks_like_a_tool {
                let message = format!("tool {} stands beside sections of the file", quoted(&entry.key));
                check.error(entry.at, message, "put the tools under `tools:`");
            } else {
                check.unknown_key(entry, "in the policy", known);
            }
        }
    }
}

fn tools(entries: &[Entry], check: &mut Checker) -> Vec<Rule> {
    entries.iter().filter_map(|e| entry::rule(e, check)).collect()
}

/// Reads a list of trusted destinations.
pub(super) fn trusted(node: &Node, check: &mut Checker) -> Vec<TrustRule> {
    let Some(items) = check.list(node, "`trusted_destinations`") else { return Vec::new() };
    let mut rules = Vec::with_capacity(items.len());
    for item in items {
        let Some(text) = check.string(item, "an item of `trusted_destinations`") else { continue };
        match TrustRule::parse(text) {
            Ok(rule) => rules.push(rule),
            Err(why) => {
                check.error(item.at, format!("{} is no trusted destination", quoted(text)), why);
            }
        }
    }
    rules
}

/// How the keys of `own_data` name tools.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// `UPSTREAM.TOOL`: what is trusted is bound to whom it comes from.
    UpstreamAndTool,
    /// `TOOL`: a pack knows its own server.
    Tool,
}

fn own_data(node: &Node, named: Named, check: &mut Checker) -> Vec<OwnData> {
    let mut found = Vec::new();
    for entry in check.map(node, "`own_data`").unwrap_or_default() {
        if named == Named::UpstreamAndTool && !entry.key.contains('.') {
            check.error(
                entry.at,
                format!("own data {} names no upstream", quoted(&entry.key)),
                format!(
                    "write `UPSTREAM.{}`: what one server calls a directory, another may fill",
                    entry.key
                ),
            );
            continue;
        }
        let what = format!("own data of {}", quoted(&entry.key));
        for item in check.list(&entry.value, &what).unwrap_or_default() {
            found.extend(directory(&entry.key, item, &what, check));
        }
    }
    found
}

fn directory(tool: &str, item: &Node, what: &str, check: &mut Checker) -> Option<OwnData> {
    let mut kinds = Vec::new();
    let path_node = match &item.value {
        Value::Map(fields) => {
            for field in fields {
                match field.key.as_str() {
                    "path" => {}
                    "kinds" => {
                        for kind in
                            check.list(&field.value, &format!("`kinds` of {what}")).unwrap_or_default()
                        {
                            kinds.extend(entry::kind(kind, &format!("a kind of {what}"), check));
                        }
                    }
                    _ => check.unknown_key(field, &format!("in {what}"), &["path", "kinds"]),
                }
            }
            let path = item.get("path");
            if path.is_none() {
                check.error(item.at, format!("{what} has no `path`"), "write `path: $.contacts[*].email`");
            }
            path?
        }
        _ => item,
    };
    let text = check.string(path_node, &format!("a path of {what}"))?;
    match JsonPath::parse(text) {
        Ok(path) => Some(OwnData { key: ToolKey::new(tool), path, source: text.to_owned(), kinds }),
        Err(error) => {
            check.error(
                path_node.at,
                format!("{} is not a JSON path: {}", quoted(text), error.message()),
                "write a path of RFC 9535, such as `$.contacts[*].email`",
            );
            None
        }
    }
}

/// Compiles the text of a pack.
///
/// # Errors
/// Every problem of the file.
pub fn compile_pack(text: &str, file: &str) -> Result<Pack, Vec<Diagnostic>> {
    let root = parse_yaml(text, file).whole()?;
    let mut check = Checker::new(file);
    let known = names(raw::PACK);
    let mut pack = Pack {
        name: String::new(),
        binding: Binding::default(),
        locality: Locality::Elsewhere,
        rules: RuleSet::default(),
    };
    for entry in check.map(&root, "a pack").unwrap_or_default() {
        let what = format!("`{}`", entry.key);
        match entry.key.as_str() {
            "pack" => check.string(&entry.value, &what).unwrap_or_default().clone_into(&mut pack.name),
            "packages" => pack.binding.packages = check.strings(&entry.value, &what).unwrap_or_default(),
            "images" => pack.binding.images = check.strings(&entry.value, &what).unwrap_or_default(),
            "programs" => pack.binding.programs = check.strings(&entry.value, &what).unwrap_or_default(),
            "hosts" => pack.binding.hosts = check.strings(&entry.value, &what).unwrap_or_default(),
            "local" => {
                if check.boolean(&entry.value, &what) == Some(true) {
                    pack.locality = Locality::Local;
                }
            }
            "tools" => {
                if let Some(entries) = check.map(&entry.value, &what) {
                    pack.rules.rules = tools(entries, &mut check);
                }
            }
            "own_data" => pack.rules.own_data = own_data(&entry.value, Named::Tool, &mut check),
            _ => check.unknown_key(entry, "in the pack", &known),
        }
    }
    if pack.name.is_empty() && !check.failed() {
        check.error(root.at, "the pack has no name", "write `pack: NAME`");
    }
    check.finish(pack).map(|(pack, _)| pack)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let problems = match compile_policy(text, "p.yaml") {
            Ok((_, warnings)) => warnings,
            Err(problems) => problems,
        };
        let seen: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(seen.len(), expected.len(), "{text:?}\n{}", seen.join("\n"));
        for (seen, expected) in seen.iter().zip(expected) {
            assert!(seen.starts_with(expected), "{text:?}\n{seen}\nis not\n{expected}");
        }
    }

    #[test]
    fn the_reference_format_loads_as_it_is() {
        let text = "\
send_email:
  exfiltrating: true
  sink_params: [on, to, cc]
  trusted_destinations: [ok@corp.com, '@corp.com']
write_file:
  write_params: [path]
  allowed_path_prefixes: [/w/out]
  arg_patterns: {mode: '[a-z]+'}
  max_calls: 5
delete_file: {}
";
        let (rules, warnings) = compile_policy(text, "p").unwrap();
        assert_eq!((rules.rules.len(), warnings.len()), (3, 0));
        assert!(compile_policy("{}", "p").is_ok());
    }

    #[test]
    fn what_would_silently_do_nothing_is_an_error() {
        check(
            "delete_file:\n  max_calls: -1\n",
            &["error: `max_calls` of tool `delete_file` must be from 0"],
        );
        check(
            "d:\n  max_calls: '0'\n",
            &["error: `max_calls` of tool `d` must be a whole number or `unlimited`, not a string"],
        );
        check(
            "d:\n  max_calls: 0.0\n",
            &["error: `max_calls` of tool `d` must be a whole number or `unlimited`, not a decimal number"],
        );
        check(
            "d:\n  max_calls: false\n",
            &["error: `max_calls` of tool `d` must be a whole number or `unlimited`, not true or false"],
        );
        check("s:\n", &["error: tool `s` must be a mapping, not nothing\n  --> p.yaml:1:2"]);
        check("s: deny\n", &["error: tool `s` must be a mapping, not a string"]);
        check(
            "w:\n  allowed_path_prefixes: /w/out\n",
            &[
                "error: `allowed_path_prefixes` of tool `w` must be a list of strings, not a string\n  --> p.yaml:2:26\n  help: write `[/w/out]`",
            ],
        );
        check(
            "w:\n  allowed_path_prefixes: ['']\n",
            &["error: an item of `allowed_path_prefixes` of tool `w` is empty"],
        );
        check(
            "r:\n  arg_patterns: [table]\n",
            &["error: `arg_patterns` of tool `r` must be a mapping, not a list"],
        );
        check(
            "r:\n  arg_patterns: {to: '('}\n",
            &["error: `to` in `arg_patterns` of tool `r` is no pattern"],
        );
        check(
            "r:\n  arg_patterns: {to: 'a(?=b)'}\n",
            &["error: `to` in `arg_patterns` of tool `r` is no pattern: it uses look-around"],
        );
        check("s: {max_calls: 1}\ns: {max_calls: 2}\n", &["error: key `s` stands twice\n  --> p.yaml:2:1"]);
        check(
            "s: {max_cals: 1}\ns: {max_calls: -2}\n1: {}\n",
            &[
                "error: unknown key `max_cals`",
                "error: key `s` stands twice",
                "error: `max_calls` of tool `s` must be from 0",
                "error: a name must be a string",
            ],
        );
        check("123: {max_calls: 0}\n", &["error: a name must be a string"]);
        check("hello\n", &["error: a policy must be a mapping, not a string"]);
        check("false\n", &["error: a policy must be a mapping"]);
        check("0\n", &["error: a policy must be a mapping"]);
        check("[]\n", &["error: a policy must be a mapping"]);
        check("''\n", &["error: a policy must be a mapping"]);
        check("", &["error: the file is empty"]);
        check(
            "p: {exfiltrating: 'false'}\n",
            &["error: `exfiltrating` of tool `p` must be true or false, not a string"],
        );
        check(
            "p: {exfiltrating: no}\n",
            &[
                "error: `exfiltrating` of tool `p` must be true or false, not a string\n  --> p.yaml:1:19\n  help: write `false`",
            ],
        );
        check("p: {sink_params: to}\n", &["error: `sink_params` of tool `p` must be a list of strings"]);
        check("p: {trusted_destinations: x@y.org}\n", &["error: `trusted_destinations` must be a list"]);
        check(
            "p: !!python/object/apply:os.system ['id']\n",
            &["error: tags are not read", "error: tool `p` must be a mapping, not a list"],
        );
        check("b: &b {max_calls: 1}\np:\n  <<: *b\n", &["error: merge keys are not read"]);
        check(
            "p: {sink_param: [to]}\n",
            &[
                "error: unknown key `sink_param` for tool `p`\n  --> p.yaml:1:5\n  help: write `sink_params`; known keys: exfiltrating, sink_params",
            ],
        );
    }

    #[test]
    fn loosening_has_limits_and_is_reported() {
        check(
            "p: {exfiltrating: false}\n",
            &["warning: tool `p` turns its sink gate off\n  --> p.yaml:1:19"],
        );
        check("p: {on: {unproven: deny, free-text: ask}}\n", &[]);
        check("p: {on: {unproven: allow}}\n", &["error: `unproven` in `on` of tool `p` may not be `allow`"]);
        check(
            "p: {on: {unprovn: deny}}\n",
            &[
                "error: unknown key `unprovn` in `on` of tool `p`\n  --> p.yaml:1:10\n  help: write `unproven`",
            ],
        );
        check("p: {allowed_path_prefixes: [out]}\n", &["warning: `out` of tool `p` is relative"]);
        check(
            "p: {arg_patterns: {to: 'a^b', cc: '^a$'}}\n",
            &["warning: `to` in `arg_patterns` of tool `p` never matches, so every call with this argument"],
        );
        check("p: {trusted_destinations: ['*']}\n", &["error: `*` is no trusted destination"]);
    }

    #[test]
    fn own_keys() {
        let text = "\
tools:
  git.git_add:
    effect: write
    also: [send]
    args: {repo_path: path, to: {role: destination, kind: email}}
    paths: {files: {base: repo_path, within: [/srv]}}
    allowed_values: {mode: [a, 1, true]}
    hosts: {url: ['*.example.com']}
    ranges: {amount: {min: 0, max: 99.5}}
    refs: [branch]
    at_least: ask
    replace: true
    max_calls: unlimited
own_data: {'mail.list_contacts': ['$.contacts[*].email', {path: '$[*]', kinds: [phone]}]}
trusted_destinations: [ana@corp.com]
local: [files, 'mem*']
budgets: {'git.*': 9}
";
        check(text, &[]);
        check("own_data: {contacts: ['$']}", &["error: own data `contacts` names no upstream"]);
        check("own_data: {a.b: ['$[']}", &["error: `$[` is not a JSON path"]);
        check("own_data: {a.b: [{kinds: [email]}]}", &["error: own data of `a.b` has no `path`"]);
        check("tools: {}\nsend: {max_calls: 1}", &["error: tool `send` stands beside sections of the file"]);
        check("t: {ranges: {a: {}}}", &["error: `a` in `ranges` of tool `t` limits nothing"]);
        check("t: {ranges: {a: {min: 2, max: 1}}}", &["error: `a` in `ranges` of tool `t` admits no number"]);
        check("t: {paths: {a: {}}}", &["error: `a` in `paths` of tool `t` limits nothing"]);
        check("t: {hosts: {a: ['*.com']}}", &["error: `*.com` in `a` in `hosts` of tool `t` is no host"]);
        check("t: {args: {'a..b': path}}", &["error: `a..b` is no argument path"]);
        check(
            "t: {args: {a: adress}}",
            &["error: the role of argument `a` of tool `t` is `adress`, which is not known"],
        );
        check(
            "t: {effect: sned}",
            &[
                "error: `effect` of tool `t` is `sned`, which is not known\n  --> p.yaml:1:13\n  help: write `send`",
            ],
        );
    }

    #[test]
    fn ten_mistakes_are_ten_problems() {
        let text = "a: 1\nb:\nc: {max_calls: x}\nd: {effect: y}\ne: {sink_params: z}\nf: {nope: 1}\n\
                    g: {exfiltrating: 1}\nh: {arg_patterns: {a: '['}}\ni: {allowed_path_prefixes: [~]}\nj: {also: [k]}\n";
        let problems = compile_policy(text, "p").unwrap_err();
        let lines: Vec<_> = problems.iter().map(|p| p.at.map_or(0, |at| at.line)).collect();
        assert_eq!(lines, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }
}
