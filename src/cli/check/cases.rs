//! `check --cases`: policy cases over the user's policy, as the packs are tested.

use std::env;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::super::{Exit, show};
use super::command::CheckArgs;
use crate::cli::args::Format;
use crate::config;
use crate::pack::{Diagnostic, Passed, PolicySource, builtin_packs, load_policy, read_cases, run_case};
use crate::policy::RuleSet;
use crate::provenance::escaped;

/// Runs all cases of all files and prints what came of them.
pub(super) fn cases(args: &CheckArgs, out: &mut dyn Write, errors: &mut dyn Write) -> Exit {
    match run(args) {
        Ok((results, wrong)) => {
            let total = results.len();
            match args.format {
                Format::Text => {
                    for result in &results {
                        let _ = writeln!(out, "{}", result.line);
                    }
                    let _ = writeln!(out, "{total} cases, {wrong} not as they should be");
                }
                Format::Json => {
                    let cases: Vec<Value> = results.into_iter().map(|result| result.json).collect();
                    let value = json!({"cases": cases, "total": total, "wrong": wrong});
                    show::json(out, &value);
                }
            }
            if wrong == 0 { Exit::Done } else { Exit::CheckFailed }
        }
        Err(problems) => {
            for problem in problems {
                // Nothing is left to report to when even this cannot be written.
                let _ = writeln!(errors, "{problem}");
            }
            Exit::Config
        }
    }
}

struct Ran {
    line: String,
    json: Value,
}

fn run(args: &CheckArgs) -> Result<(Vec<Ran>, usize), Vec<Diagnostic>> {
    let base = base(args)?;
    let mut results = Vec::new();
    let mut wrong = 0;
    for file in &args.cases {
        let shown = file.display().to_string();
        for case in read_cases(&read(file)?, &shown)? {
            let result = run_case(&case, &base);
            let passed = result.passed == Passed::Yes;
            wrong += usize::from(!passed);
            let contract = result.contract.map_or("-", crate::policy::Contract::as_str);
            let id = escaped(&case.id, 80);
            let line = if passed {
                format!("ok    {id}: {} ({contract})", result.verdict)
            } else {
                let wanted = case.accept.join(" or ");
                let by = case.contract.map(|c| format!(" by {c}")).unwrap_or_default();
                format!(
                    "WRONG {id}: {} ({contract}), not {wanted}{by}\n  --> {}:{}:{}\n  cause: {}",
                    result.verdict,
                    escaped(&shown, 300),
                    case.at.line,
                    case.at.column,
                    escaped(&result.reason, 1_000)
                )
            };
            let json = json!({
                "file": shown, "id": case.id, "verdict": result.verdict, "contract": contract,
                "reason": result.reason, "accept": case.accept, "passed": passed,
            });
            results.push(Ran { line, json });
        }
    }
    Ok((results, wrong))
}

fn read(file: &Path) -> Result<String, Vec<Diagnostic>> {
    std::fs::read_to_string(file).map_err(|error| {
        vec![
            Diagnostic::whole(&file.display().to_string(), "cases cannot be read")
                .because(error.to_string())
                .help("give a file of cases with `--cases FILE`"),
        ]
    })
}

/// The user's rules that every case stands on.
fn base(args: &CheckArgs) -> Result<Vec<RuleSet>, Vec<Diagnostic>> {
    let sources = match &args.config {
        Some(path) => config::load(path, &|name| env::var(name).ok())?.policy_sources(&args.policy),
        None => args.policy.iter().cloned().map(PolicySource::File).collect(),
    };
    let (policy, _) = load_policy(&sources, builtin_packs()?)?;
    Ok(policy.user().to_vec())
}
