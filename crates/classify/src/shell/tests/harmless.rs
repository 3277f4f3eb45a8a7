//! What every developer types: nothing is sent anywhere.

use super::super::read;
use super::check;

#[test]
fn nothing_leaves() {
    let commands = [
        "cargo build", "cargo test --workspace -- --nocapture", "cargo clippy -p core --all-targets", "cargo fmt", "git status",
        "git log --oneline -20", "git diff HEAD~1", "git add -A && git commit -m 'fix: a bug'", "git checkout -b feature/x",
        "git stash", "git branch -a", "git show HEAD", "ls -la", "ls", "pwd", "npm test", "npm run build", "npm run lint -- --fix",
        "yarn test", "pnpm build", "npx", "make -j4", "make test", "grep -r foo src", "grep -rn 'fn main' --include='*.rs' .",
        "rg -n pattern src/", "find . -name '*.rs' -type f", "find . -name '*.rs' | xargs wc -l", "cat README.md", "cat src/main.rs | head -50",
        "head -n 20 Cargo.toml", "tail -f app.log", "wc -l src/*.rs", "sed -n '1,80p' src/lib.rs", "sed -i 's/a/b/g' src/lib.rs",
        "awk '{print $1}' data.txt", "sort names.txt | uniq -c | sort -rn | head", "mkdir -p target/out", "cp a.txt b.txt", "mv a b",
        "touch new.txt", "chmod +x run.sh", "echo hello", "echo \"hello $USER\"", "echo 'see https://example.com/docs'", "printf '%s\\n' a b",
        "export RUST_LOG=debug", "cd src && ls", "python3 -m pytest tests/", "pytest -x -q", "python3 -c 'print(1+1)'", "node -e 'console.log(1)'",
        "python3 script.py --flag", "./run.sh", "bash build.sh", "go build ./...", "go test ./...", "mvn package", "gradle build", "tsc --noEmit",
        "eslint src", "prettier --write .", "ruff check .", "black .", "docker ps", "docker images", "docker compose config", "kubectl version",
        "jq '.name' package.json", "diff a.txt b.txt", "tar xzf archive.tgz", "tar czf out.tgz src", "unzip -o a.zip -d out", "which python3",
        "date +%s", "sleep 5", "time cargo build", "for i in 1 2 3; do echo $i; done", "if [ -f a ]; then echo yes; fi", "test -d src || mkdir src",
        "[[ -n $X ]] && echo set", "(cd sub && make)", "while true; do sleep 1; done", "ps aux | grep node", "kill -9 123", "lsof -i :8080",
        "du -sh *", "df -h", "env | grep PATH", "history | tail", "cargo run -- --port 8080", "cat <<EOF > out.txt\nhello\nEOF",
        "tee log.txt <<< hi", "xargs -n1 echo < list", "psql -c 'select 1'", "sqlite3 app.db 'select * from t'", "redis-cli get key",
        "open README.md", "true", ":", "", "# just a comment", "ls # list", "a=1 b=2", "x=$((1+2)); echo $x", "base64 -d <<< aGVsbG8=",
        "sha256sum file.iso", "openssl rand -hex 16", "ssh-keygen -t ed25519 -f key", "terraform plan", "helm lint chart", "source .venv/bin/activate",
        "rustup show", "uname -a", "whoami", "git config user.name", "git remote -v", "git rebase main", "git tag v1", "git merge dev",
    ];
    for command in commands {
        let analysis = read(command);
        assert!(analysis.sends.is_empty() && analysis.flows.is_empty(), "{command}: {analysis:?}");
        assert!(analysis.unparsed.is_none() && !analysis.fetches_and_runs, "{command}: {analysis:?}");
        assert!(analysis.unknown.is_empty() && analysis.destructive.is_empty(), "{command}: {analysis:?}");
    }
}

#[test]
fn what_they_read_and_write() {
    check(&[
        ("cat a b", "r:a r:b"),
        ("cat < a > b", "r:a w:b"),
        ("grep -r foo src", "r:src"),
        ("grep -e foo -f list src", "r:list r:src"),
        ("cp a b c", "r:a r:b w:c"),
        ("tar czf out.tgz ~/.ssh", "r:~/.ssh w:out.tgz"),
        ("tar -xf a.tar -C out", "r:a.tar w:out"),
        ("dd if=/dev/sda of=disk.img", "r:/dev/sda w:disk.img"),
        ("sed -i s/a/b/ f", "r:f w:f"),
        ("echo x | tee a b >/dev/null", "w:a w:b"),
        ("head -n 5 f", "r:f"),
        ("cd ~/.aws && cat credentials", "r:~/.aws/credentials"),
        ("cat \"$HOME/.ssh/id_rsa\"", "r:~/.ssh/id_rsa"),
        ("cat ${HOME}/.ssh/id_rsa", "r:~/.ssh/id_rsa"),
        ("cat ~/.ssh/{id_rsa,id_ed25519}", "r:~/.ssh/id_rsa r:~/.ssh/id_ed25519"),
        ("f=.env; cat $f", "r:.env"),
        ("source .env", "x:.env"),
        (". ./setup.sh", "x:./setup.sh"),
        ("python3 tool.py", "x:tool.py"),
        ("find / -name id_rsa -exec cat {} \\;", "r://id_rsa"),
        ("mytool --config ./c.toml", "~r:./c.toml"),
        ("awk -F: '{print $1}' /etc/passwd", "r:/etc/passwd"),
        ("xxd -p f", "r:f"),
        ("cat a 2>/dev/null", "r:a"),
        ("wc -l < a", "r:a"),
    ]);
}
