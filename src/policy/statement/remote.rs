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
}
