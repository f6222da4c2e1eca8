//! The config that a rewritten client's entry runs: `STATE/clients/CLIENT-HASH.yaml`.
//!
//! It is a `bouncer.yaml` like any other, and the user's to change: policies, prefixes, packs. So it
//! is written once, and servers that come later are added at its end, where `upstreams` stands.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value};

use super::plan::MapPlan;

/// The config of a map; `before` is its text where it exists already.
///
/// # Errors
/// A text that exists is not one that servers can be added to, or the result does not load.
pub(super) fn config(map: &MapPlan, from: &Path, before: Option<&str>) -> Result<String, String> {
    let names = before.map(names_of).transpose()?.unwrap_or_default();
    let mut text = match before {
        Some(before) => with_policies(&with_line_end(before), &map.policies)?,
        None => head(map, from),
    };
    for (name, upstream) in map.upstreams.iter().filter(|(name, _)| !names.contains(name)) {
        let entry: Map<String, Value> = std::iter::once((name.clone(), upstream.clone())).collect();
        let yaml = serde_yaml::to_string(&entry).map_err(|error| error.to_string())?;
        for line in yaml.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    let added: Vec<&str> = map.upstreams.iter().map(|(name, _)| name.as_str()).collect();
    let after = names_of(&text)?;
    match added.iter().find(|name| !after.iter().any(|known| known == *name)) {
        // FAIL CLOSED: a server that got lost on the way must not be taken out of the client's file.
        Some(lost) => {
            Err(format!("server `{lost}` would be lost; `upstreams` must be the last key of the config"))
        }
        None => Ok(text),
    }
}

fn head(map: &MapPlan, from: &Path) -> String {
    let mut text = String::from(
        "# Servers that `bouncer init` took over. Yours to change; `bouncer restore` gives them back.\n",
    );
    // A path may hold a line end, which would end the comment.
    let from: String = from.display().to_string().chars().filter(|c| !c.is_control()).collect();
    let _ = writeln!(text, "# From {from}");
    text.push_str(&policy_line(&map.policies));
    text.push_str("upstreams:\n");
    text
}

/// JSON is YAML.
fn policy_line(policies: &[Value]) -> String {
    if policies.is_empty() {
        return String::new();
    }
    format!("policy: {}\n", serde_json::to_string(policies).unwrap_or_default())
}

/// FAIL CLOSED: a rule that came with a server must not get lost on its way.
fn with_policies(text: &str, policies: &[Value]) -> Result<String, String> {
    let line = policy_line(policies);
    if line.is_empty() || text.contains(&line) {
        return Ok(text.to_owned());
    }
    if text.lines().any(|line| line.starts_with("policy:")) {
        return Err(format!("its `policy` must be extended by hand with: {}", line.trim_end()));
    }
    match text.find("upstreams:") {
        Some(at) => {
            Ok(format!("{}{line}{}", text.get(..at).unwrap_or_default(), text.get(at..).unwrap_or_default()))
        }
        None => Err("the config has no `upstreams`".to_owned()),
    }
}

fn with_line_end(text: &str) -> String {
    let mut text = text.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The names of the upstreams in a config.
fn names_of(text: &str) -> Result<Vec<String>, String> {
    let root: Value = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    match root.get("upstreams") {
        Some(Value::Object(upstreams)) => Ok(upstreams.keys().cloned().collect()),
        Some(Value::Null) => Ok(Vec::new()),
        _ => Err("the config has no `upstreams`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use serde_json::json;
    use std::path::PathBuf;

    fn map(upstreams: &[(&str, Value)]) -> MapPlan {
        MapPlan {
            map: vec!["mcpServers".to_owned()],
            entry: "bouncer".to_owned(),
            config: PathBuf::from("/s/clients/x.yaml"),
            originals: Vec::new(),
            upstreams: upstreams.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            policies: Vec::new(),
            installed: false,
        }
    }

    #[test]
    fn what_is_written_loads_with_every_value_as_it_was() {
        let odd = json!({"command": "a b", "args": ["- x", "yes", "007", "", "a: b # c", "${H}", "1e3", "~", "\u{e9}\n"], "env": {"N": "no", "on": "12"}});
        let text = config(&map(&[("no", odd), ("a: b", json!({"command": "y"}))]), Path::new("/h/\nx"), None)
            .expect("a config");
        let env = |name: &str| (name == "H").then(|| "home".to_owned());
        let read = config::parse(&text, Path::new("/s/x.yaml"), &env).expect("a config that loads");
        let first = read.upstreams.first().expect("an upstream");
        assert_eq!(first.name, "no");
        assert_eq!(first.args, ["- x", "yes", "007", "", "a: b # c", "home", "1e3", "~", "\u{e9}\n"]);
        assert_eq!(first.env.get("N").map(String::as_str), Some("no"));
        assert_eq!(read.upstreams.len(), 2);
    }

    #[test]
    fn later_servers_are_added_and_changes_by_hand_stay() {
        let first = config(&map(&[("a", json!({"command": "x"}))]), Path::new("/h"), None).expect("a config");
        let by_hand = first.replace("upstreams:", "policy: p.yaml\nupstreams:") + "    prefix: q";
        let both = config(
            &map(&[("a", json!({"command": "z"})), ("b", json!({"command": "y"}))]),
            Path::new("/h"),
            Some(&by_hand),
        );
        let both = both.expect("a config");
        assert!(both.starts_with(&by_hand) && both.contains("\n  b:\n    command: y\n"), "{both}");
        let broken = first + "limits: {}\n";
        assert!(config(&map(&[("b", json!({"command": "y"}))]), Path::new("/h"), Some(&broken)).is_err());
    }
}
