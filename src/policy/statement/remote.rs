//! Programs that talk to other machines: who they reach, and whether they hand anything over.

use super::class::{PlaceForm, StatementClass};
use super::programs::{Call, among};
use crate::policy::Effect;

impl Call<'_> {
    /// The hosts among the operands: `user@host:path`, `host`, `host/path`.
    pub(super) fn connects(&self, effect: Effect, class: &mut StatementClass) {
        class.add(effect);
        for operand in self.operands().filter(|it| !it.contains("://")) {
            let behind_user = operand.rsplit('@').next().unwrap_or(operand);
            let host = behind_user.split(['/', ':']).next().unwrap_or_default();
            let remote = operand.contains('@') || operand.contains(':') && !operand.starts_with('/');
            if among(self.name, "mail mailx mutt sendmail") {
                class.place(PlaceForm::Host, if operand.contains('@') { operand } else { "" });
            } else if remote
                || host.contains('.') && !operand.starts_with(['.', '/', '~'])
                || host == "localhost"
            {
                class.place(PlaceForm::Host, host);
            } else if operand.contains('/') {
                class.place(PlaceForm::Path, operand);
            }
        }
    }

    pub(super) fn rsync(&self, class: &mut StatementClass) {
        if self.has(&["-e", "--rsh", "--rsync-path"]) {
            class.add(Effect::Execute);
        }
        if self.args.iter().any(|it| it.starts_with("--delete") || it == "--remove-source-files") {
            class.add(Effect::Destroy);
        }
        let remote = self.operands().any(|it| it.contains(':'));
        if remote {
            self.connects(Effect::Send, class);
        } else {
            self.acts(Effect::Write, class);
        }
    }

    pub(super) fn web(&self, class: &mut StatementClass) {
        let carries = [
            "-d",
            "--data",
            "--data-raw",
            "--data-binary",
            "--data-urlencode",
            "--data-ascii",
            "--json",
            "-F",
            "--form",
            "--form-string",
            "-T",
            "--upload-file",
            "--post-data",
            "--post-file",
            "--body-data",
            "--body-file",
        ];
        let glued = |it: &String| {
            !it.starts_with("--")
                && it.len() > 2
                && ["-d", "-F", "-T"].iter().any(|flag| it.starts_with(flag))
        };
        let method = self.args.windows(2).any(|it| match it {
            [flag, method] if flag == "-X" || flag == "--request" => {
                !among(&method.to_ascii_uppercase(), "GET HEAD OPTIONS")
            }
            _ => false,
        }) || self.args.iter().any(|it| {
            let method = it
                .strip_prefix("-X")
                .or_else(|| it.strip_prefix("--request="))
                .or_else(|| it.strip_prefix("--method="));
            method.is_some_and(|it| !it.is_empty() && !among(&it.to_ascii_uppercase(), "GET HEAD OPTIONS"))
        });
        let httpie = among(self.name, "http https xh")
            && self
                .operands()
                .any(|it| among(it, "POST PUT PATCH DELETE") || it.contains('=') && !it.contains("=="));
        let sends = self.has(&carries) || self.args.iter().any(glued) || method || httpie;
        class.add(if sends { Effect::Send } else { Effect::Fetch });
        if self.has(&["-K", "--config", "--use-askpass", "-e", "--execute"]) && self.name != "curl"
            || self.has(&["-K", "--config"])
        {
            class.add(Effect::Execute);
        }
        let saves = self.has(&[
            "-o",
            "-O",
            "--output",
            "--remote-name",
            "-P",
            "--directory-prefix",
            "--output-document",
        ]);
        if saves || self.name == "wget" {
            class.add(Effect::Write);
        }
        let mut skip = true;
        for operand in self.args {
            let is_value = std::mem::replace(
                &mut skip,
                operand.starts_with('-')
                    && operand.len() == 2
                    && !among(operand, "-s -S -L -k -v -f -i -I -O -g"),
            );
            let bare = operand.split(['/', ':']).next().unwrap_or_default();
            if operand.starts_with('-')
                || operand.contains("://")
                || is_value && Some(operand) != self.args.first()
            {
                continue;
            }
            if bare.contains('.')
                && !operand.starts_with(['.', '/', '~', '@'])
                && !operand.contains(['=', ' '])
            {
                class.place(PlaceForm::Host, bare);
            }
        }
    }

    pub(super) fn git(&self, class: &mut StatementClass) {
        let mut at = 0;
        while let Some(arg) = self.args.get(at).filter(|it| it.starts_with('-')) {
            if arg == "-c" || arg.starts_with("--config-env") || arg.starts_with("--exec-path=") {
                class.add(Effect::Execute);
            }
            at += if among(arg, "-c -C --git-dir --work-tree --namespace") { 2 } else { 1 };
        }
        let command = self.args.get(at).map_or("", String::as_str);
        let rest = self.args.get(at + 1..).unwrap_or_default();
        let flag = |row: &str| rest.iter().any(|it| among(it.split('=').next().unwrap_or(it), row));
        let operands = rest.iter().filter(|it| !it.starts_with('-')).count();
        let first = rest.iter().find(|it| !it.starts_with('-')).map_or("", String::as_str);
        if flag("--upload-pack --receive-pack --exec --ext-diff --textconv -x --open-files-in-pager -O") {
            class.add(Effect::Execute);
        }
        let effect = match command {
            "" | "status" | "log" | "show" | "diff" | "blame" | "ls-files" | "ls-tree" | "rev-parse"
            | "rev-list" | "describe" | "shortlog" | "cat-file" | "grep" | "merge-base" | "name-rev"
            | "whatchanged" | "count-objects" | "help" | "version" | "show-ref" | "for-each-ref"
            | "cherry" | "check-ignore" | "var" => {
                if flag("--output") {
                    Effect::Write
                } else {
                    Effect::Read
                }
            }
            "ls-remote" | "fetch" => Effect::Fetch,
            "push" => {
                let forced = flag("-f --force --force-with-lease --delete -d --mirror --prune")
                    || rest.iter().any(|it| it.starts_with('+') || it.starts_with(':'));
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
            "branch" | "tag" | "notes" if operands == 0 || flag("-l --list --contains --merged") => {
                Effect::Read
            }
            "remote" if operands == 0 || among(first, "show get-url") => Effect::Read,
            "stash" if among(first, "list show") => Effect::Read,
            "stash" if among(first, "drop clear") => Effect::Destroy,
            "reflog" | "worktree" | "submodule" if operands == 0 || among(first, "show list status") => {
                Effect::Read
            }
            "reflog" | "filter-branch" | "filter-repo" | "gc" | "prune" | "clean" | "replace"
            | "update-ref" => {
                if flag("-n --dry-run") {
                    Effect::Read
                } else {
                    Effect::Destroy
                }
            }
            "reset" if flag("--hard") => Effect::Destroy,
            "config" if flag("--get --get-all --list -l --get-regexp") || operands == 1 => Effect::Read,
            "config" => {
                if first.starts_with("user.") || first.starts_with("color.") {
                    Effect::Write
                } else {
                    Effect::Execute
                }
            }
            "add" | "commit" | "checkout" | "switch" | "merge" | "cherry-pick" | "revert" | "restore"
            | "mv" | "rm" | "init" | "apply" | "am" | "branch" | "tag" | "notes" | "remote" | "stash"
            | "reset" | "worktree" | "format-patch" | "archive" | "bundle" | "sparse-checkout" => {
                Effect::Write
            }
            "rebase" => {
                if flag("-i --interactive -x --exec") {
                    Effect::Execute
                } else {
                    Effect::Write
                }
            }
            // An alias may be anything.
            _ => Effect::Execute,
        };
        class.add(effect);
        for operand in rest.iter().filter(|it| it.contains('@') && it.contains(':') && !it.contains("://")) {
            let host = operand.split(':').next().and_then(|it| it.rsplit('@').next()).unwrap_or_default();
            class.place(PlaceForm::Host, host);
        }
    }
}
