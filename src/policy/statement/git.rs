//! What git does: the sub-commands that look, each with its closed list of options, and the effect of
//! the others.
//!
//! Git runs what its configuration and several options name (pagers, diff and transport helpers), so
//! an option that is not in the row of its sub-command executes.

use super::class::{PlaceForm, StatementClass};
use super::options::{Computed, Parsed, Until, parse};
use super::programs::{Call, among};
use crate::policy::Effect;

const FRONT: &str = "-P -C= --no-pager --no-optional-locks --literal-pathspecs --version --help";
const LOG: &str = "-pqsuwzbaiEFPgmctrvRW -M? -C? -B? -S= -G= -n= -U= -L= -l= -# --oneline --graph --all --stat? --shortstat --numstat \
    --name-only --name-status --patch --no-patch --decorate? --no-decorate --format= --pretty? --date= --since= --until= --after= \
    --before= --author= --committer= --grep= --all-match --invert-grep --max-count= --skip= --merges --no-merges --first-parent \
    --reverse --follow --abbrev-commit --no-abbrev-commit --abbrev? --color? --no-color --word-diff? --color-words? --cached --staged \
    --unified= --diff-filter= --find-renames? --find-copies? --no-renames --no-ext-diff --no-textconv --branches? --tags? --remotes? \
    --topo-order --date-order --author-date-order --left-right --cherry-pick --cherry-mark --summary --dirstat? --minimal --patience \
    --histogram --diff-algorithm= --ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-blank-lines --full-index \
    --binary --raw --check --exit-code --quiet --relative? --submodule? --source --no-walk? --boundary --simplify-by-decoration \
    --full-history --ancestry-path --merge-base --no-index --no-prefix --pickaxe-regex --pickaxe-all --text --function-context \
    --inter-hunk-context= --compact-summary --show-pulls --notes? --no-notes --regexp-ignore-case --extended-regexp --fixed-strings \
    --perl-regexp --parents --children --not --glob= --exclude= --walk-reflogs --numbered --email --count --objects --left-only \
    --right-only --stat-width= --abbrev=";
/// Sub-commands that look, with their options.
const LOOKS: &[(&str, &str)] = &[
    ("log show diff whatchanged shortlog rev-list reflog diff-tree diff-index diff-files", LOG),
    (
        "status",
        "-sbuvz -u? --short --branch --porcelain? --long --show-stash --ignored? --untracked-files? --ahead-behind \
         --no-ahead-behind --no-renames --column? --verbose --ignore-submodules?",
    ),
    (
        "blame annotate",
        "-lstfnweb -L= -M? -C? --date= --porcelain --line-porcelain --show-email --root --since= --abbrev=",
    ),
    (
        "ls-files",
        "-cdmokstuvz -x= --cached --deleted --modified --others --ignored --stage --exclude-standard --full-name --error-unmatch \
         --exclude= --unmerged --killed --directory --eol",
    ),
    (
        "ls-tree",
        "-drtlz --name-only --name-status --long --full-name --full-tree --object-only --abbrev? --format=",
    ),
    (
        "rev-parse",
        "-q --quiet --short? --verify --abbrev-ref? --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir \
         --absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --all --symbolic --symbolic-full-name \
         --branches? --tags? --remotes?",
    ),
    (
        "describe",
        "--all --tags --contains --abbrev= --always --dirty? --long --match= --exclude= --exact-match --candidates= --first-parent",
    ),
    ("cat-file", "-ptse"),
    (
        "grep",
        "-ivwnlLcahHrEFGPzpWqI -e= -f= -A= -B= -C= -m= -# --cached --no-index --untracked --ignore-case --word-regexp --line-number \
         --files-with-matches --name-only --count --color? --no-color --heading --break --column --only-matching --fixed-strings \
         --extended-regexp --perl-regexp --recursive --and --or --not --all-match --max-depth= --function-context --show-function \
         --text --quiet --invert-match --files-without-match --max-count= --context= --after-context= --before-context=",
    ),
    ("merge-base", "-a --all --is-ancestor --fork-point --octopus --independent"),
    ("name-rev", "--tags --name-only --always --all"),
    ("count-objects", "-vH --verbose --human-readable"),
    ("show-ref", "-dqs --head --heads --tags --hash? --verify --quiet"),
    (
        "for-each-ref",
        "--count= --sort= --format= --points-at= --merged= --no-merged= --contains= --no-contains=",
    ),
    ("cherry", "-v"),
    ("check-ignore", "-vnqz --verbose --no-index --quiet"),
    ("version", "--build-options"),
];
/// Options with which `branch`, `tag` and `notes` list.
const LISTS: &str = "-l -n? --list --contains= --no-contains= --merged= --no-merged= --points-at=";
const LISTED: &str =
    "-arv --all --remotes --verbose --show-current --sort= --format= --color? --no-color --column?";
/// Options that name a program, with which any sub-command executes. Abbreviations count.
const RUNS: &str = "--upload-pack --receive-pack --exec --ext-diff --textconv --open-files-in-pager --config --template --rsh \
    --interactive --strategy --extcmd --tool --smtp-server --sendmail-cmd --to-cmd --cc-cmd --server-option --run-command";

fn known<'a>(row: &str, args: &'a [String]) -> Option<Parsed<'a>> {
    parse(row, args, Computed::Refused, Until::End)
}

impl Call<'_> {
    pub(super) fn git(&self, class: &mut StatementClass) {
        let Some(front) = parse(FRONT, self.args, Computed::Refused, Until::Operand) else {
            class.add(Effect::Execute);
            return;
        };
        let Some((command, rest)) = front.rest.split_first() else { return };
        let effect = match looks(command, rest) {
            Some(effect) => effect,
            None => acts(command, rest, class),
        };
        class.add(effect);
        for operand in rest.iter().filter(|it| it.contains('@') && it.contains(':') && !it.contains("://")) {
            let host = operand.split(':').next().and_then(|it| it.rsplit('@').next()).unwrap_or_default();
            class.place(PlaceForm::Host, host);
        }
    }
}

/// The effect of a sub-command that looks, with nothing but options known to look.
fn looks(command: &str, rest: &[String]) -> Option<Effect> {
    let first = rest.first().map_or("", String::as_str);
    let behind = rest.get(1..).unwrap_or_default();
    let reads = match command {
        // These two lose something with the words behind them.
        "reflog" if among(first, "delete expire drop") => false,
        "branch" | "tag" | "notes" => {
            let parsed = known(&format!("{LISTS} {LISTED}"), rest)?;
            parsed.operands.is_empty()
                || parsed.has("-l --list --contains --no-contains --merged --no-merged --points-at")
        }
        "remote" => match first {
            "" | "-v" | "--verbose" => behind.is_empty(),
            "get-url" => known("--all --push", behind).is_some(),
            // Asks the other side.
            "show" => return known("-n", behind).map(|_| Effect::Fetch),
            _ => false,
        },
        "stash" => among(first, "list show") && known(LOG, behind).is_some(),
        "worktree" => first == "list" && known("-vz --porcelain --verbose", behind).is_some(),
        "submodule" => {
            first.is_empty() || first == "status" && known("--recursive --cached", behind).is_some()
        }
        "config" => config_looks(rest)?,
        "clean" => known("-ndxX -e= --dry-run --exclude=", rest)?.has("-n --dry-run"),
        "ls-remote" => {
            let parsed = known("-thq --heads --tags --refs --sort= --symref --exit-code --quiet", rest)?;
            return plain_remotes(&parsed).then_some(Effect::Fetch);
        }
        "fetch" => {
            let row = "-apqvtfn46 -j= --all --prune --tags --depth= --quiet --verbose --dry-run --no-tags --unshallow --force --jobs= \
                --progress --deepen= --prune-tags --multiple";
            return plain_remotes(&known(row, rest)?).then_some(Effect::Fetch);
        }
        _ => {
            let row = LOOKS.iter().find(|it| among(command, it.0))?;
            known(row.1, rest)?;
            true
        }
    };
    reads.then_some(Effect::Read)
}

/// `transport::address` runs a program of that name.
fn plain_remotes(parsed: &Parsed<'_>) -> bool {
    !parsed.operands.iter().any(|it| it.contains("::"))
}

fn config_looks(rest: &[String]) -> Option<bool> {
    let places =
        "-z --global --local --system --worktree --show-origin --show-scope --name-only --null --includes";
    let words = match rest.first().map(String::as_str) {
        Some("list" | "get") => rest.get(1..).unwrap_or_default(),
        _ => rest,
    };
    let parsed = known(&format!("{places} -l --get --get-all --get-regexp --list --all --regexp"), words)?;
    let asks = words.len() < rest.len() || parsed.has("-l --list --get --get-all --get-regexp");
    Some(parsed.operands.len() <= 1 && (asks || parsed.operands.len() == 1))
}

/// The effect of the other sub-commands; an alias may be anything.
fn acts(command: &str, rest: &[String], class: &mut StatementClass) -> Effect {
    let name = |it: &String| it.split('=').next().unwrap_or_default().to_owned();
    let flag = |row: &str| rest.iter().any(|it| among(&name(it), row));
    let runs = rest.iter().any(|it| {
        let name = name(it);
        it.contains("::")
            || among(&name, "-c -x -u -O -i")
            || name.len() > 3
                && name.starts_with("--")
                && RUNS.split_ascii_whitespace().any(|it| it.starts_with(&name))
    });
    if runs
        && !matches!(command, "push" if flag("-u"))
        && !matches!(command, "checkout" | "switch" if flag("-c"))
    {
        class.add(Effect::Execute);
    }
    let first = rest.first().map_or("", String::as_str);
    match command {
        "push" => {
            let forced = flag("-f --force --force-with-lease --delete -d --mirror --prune")
                || rest.iter().any(|it| it.starts_with(['+', ':']));
            if forced {
                class.add(Effect::Destroy);
            }
            Effect::Send
        }
        "send-email" | "request-pull" => Effect::Send,
        "clone" | "pull" => {
            class.add(Effect::Fetch);
            Effect::Write
        }
        "branch" | "tag" if flag("-d -D --delete") => Effect::Destroy,
        "stash" if among(first, "drop clear") => Effect::Destroy,
        "reflog" | "filter-branch" | "filter-repo" | "gc" | "prune" | "clean" | "replace" | "update-ref" => {
            Effect::Destroy
        }
        "reset" if flag("--hard") => Effect::Destroy,
        "config" => match known("--global --local", rest) {
            Some(parsed)
                if parsed.operands.len() == 2
                    && parsed
                        .operands
                        .first()
                        .is_some_and(|it| it.starts_with("user.") || it.starts_with("color.")) =>
            {
                Effect::Write
            }
            _ => Effect::Execute,
        },
        "add" | "commit" | "checkout" | "switch" | "merge" | "cherry-pick" | "revert" | "restore" | "mv"
        | "rm" | "init" | "apply" | "am" | "branch" | "tag" | "notes" | "remote" | "stash" | "reset"
        | "worktree" | "format-patch" | "archive" | "bundle" | "sparse-checkout" | "rebase" => Effect::Write,
        _ => Effect::Execute,
    }
}
