//! git: what is added, what is pushed, and where to.

use super::super::effects::Connection;
use super::super::facts::{Origin, Transfer};
use super::super::host;
use super::super::interp::Interp;
use super::super::value::{Taint, Value};
use super::Invocation;

/// Where is kept what was added, for what is pushed after it.
const STAGED: &str = "\0git staged";

pub(super) fn run(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    if invocation.name != "git" {
        return None;
    }
    let mut rest = invocation.args;
    loop {
        let Some((first, more)) = rest.split_first() else {
            return Some(Value::default());
        };
        match first.text.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => {
                if first.text == "-c" {
                    setting(interp, more.first(), invocation.stdin);
                }
                rest = more.get(1..).unwrap_or_default();
            }
            text if text.starts_with('-') => rest = more,
            verb => return Some(verb_of(interp, verb, more, invocation.stdin)),
        }
    }
}

/// Some settings name a program that git runs: `core.sshCommand`, `alias.x=!cmd`.
fn setting(interp: &mut Interp, setting: Option<&Value>, stdin: &Value) {
    let Some((name, value)) = setting.and_then(|setting| setting.text.split_once('=')) else {
        return;
    };
    let name = name.to_ascii_lowercase();
    let code = value.strip_prefix('!').unwrap_or(value);
    let runs = [
        "core.sshcommand",
        "core.pager",
        "core.editor",
        "core.fsmonitor",
        "diff.external",
        "credential.helper",
    ];
    if value.starts_with('!') || runs.contains(&name.as_str()) {
        interp.run_code(&Value::text(code), stdin);
    }
}

fn operands(args: &[Value]) -> Vec<&Value> {
    args.iter()
        .filter(|arg| !arg.text.starts_with('-'))
        .collect()
}

fn has(args: &[Value], names: &[&str]) -> bool {
    args.iter().any(|arg| names.contains(&arg.text.as_str()))
}

fn verb_of(interp: &mut Interp, verb: &str, args: &[Value], stdin: &Value) -> Value {
    let repository = |interp: &mut Interp| {
        let staged = interp.lookup(STAGED).unwrap_or_default();
        interp
            .origin(Origin::File(".git".to_owned()))
            .with(staged.taint)
    };
    match verb {
        "push" | "send-pack" | "request-pull" | "send-email" => {
            let taint = repository(interp);
            if has(
                args,
                &["-f", "--force", "--delete", "-d", "--mirror", "--prune"],
            ) || args
                .iter()
                .any(|arg| arg.text.starts_with("--force") || arg.text.starts_with('+'))
            {
                let target = operands(args)
                    .first()
                    .map_or("origin", |arg| arg.text.as_str())
                    .to_owned();
                interp.destroy("git push", &target);
            }
            remote(
                interp,
                operands(args).first().copied(),
                Transfer::Upload,
                taint,
                "git push",
            )
        }
        "clone" | "fetch" | "pull" | "ls-remote" | "fetch-pack" | "archive" => {
            let address = operands(args).first().map(|first| (*first).clone());
            let named = address
                .as_ref()
                .is_some_and(|address| is_address(&address.text));
            if verb == "archive" && !args.iter().any(|arg| arg.text.starts_with("--remote")) {
                return Value::unknown("", repository(interp));
            }
            if verb == "clone" && !named {
                return Value::default();
            }
            remote(
                interp,
                address.as_ref(),
                Transfer::Fetch,
                Taint::default(),
                &format!("git {verb}"),
            )
        }
        "remote" => {
            if let [action, _, url] = operands(args).as_slice()
                && matches!(action.text.as_str(), "add" | "set-url")
            {
                interp.write(&Value::text(".git/config"), &Value::default(), "git remote");
                interp.assign("\0git remote", vec![(*url).clone()], false);
            }
            Value::default()
        }
        "submodule" | "lfs" => {
            let address = operands(args)
                .get(1)
                .map(|url| (*url).clone())
                .filter(|url| is_address(&url.text));
            if address.is_some() || has(args, &["push", "update", "pull", "fetch"]) {
                let push = has(args, &["push"]);
                let (transfer, taint) = if push {
                    (Transfer::Upload, repository(interp))
                } else {
                    (Transfer::Fetch, Taint::default())
                };
                return remote(interp, address.as_ref(), transfer, taint, "git");
            }
            Value::default()
        }
        _ => local_verb(interp, verb, args, stdin),
    }
}

fn local_verb(interp: &mut Interp, verb: &str, args: &[Value], stdin: &Value) -> Value {
    let program = format!("git {verb}");
    match verb {
        "add" | "stage" | "hash-object" => {
            let mut staged = interp.lookup(STAGED).unwrap_or_default();
            for path in operands(args) {
                staged.taint.join(interp.read(path, &program, stdin).taint);
            }
            if has(args, &[".", "-A", "--all", "*", ":/"]) {
                staged.taint.join(interp.written_here());
            }
            staged.text.clear();
            interp.assign(STAGED, vec![staged], false);
            interp.write(&Value::text(".git"), &Value::default(), &program);
            Value::default()
        }
        "commit" | "merge" | "rebase" | "tag" | "cherry-pick" | "revert" | "stash" | "mv"
        | "init" | "checkout" | "switch" | "restore" | "am" | "apply" | "branch" | "worktree"
        | "notes" => {
            if (verb == "branch" && has(args, &["-D"]))
                || (verb == "stash" && has(args, &["drop", "clear"]))
            {
                interp.destroy(
                    &program,
                    &operands(args)
                        .first()
                        .map_or_else(String::new, |arg| arg.text.clone()),
                );
            }
            let discards = has(args, &["-f", "--force", "--", "."]);
            if matches!(verb, "checkout" | "restore") && discards {
                interp.destroy(&program, "working tree");
            }
            if !(verb == "branch" && operands(args).is_empty()) {
                interp.write(&Value::text(".git"), &Value::default(), &program);
            }
            Value::default()
        }
        "reset" | "clean" | "rm" | "filter-branch" | "filter-repo" | "gc" | "prune" | "reflog"
        | "update-ref" => {
            let destroys = match verb {
                "reset" => has(args, &["--hard", "--merge"]),
                "clean" => args
                    .iter()
                    .any(|arg| arg.text.starts_with('-') && arg.text.contains('f')),
                "reflog" => has(args, &["expire", "delete"]),
                "gc" => false,
                // Only git forgets it.
                "rm" => !has(args, &["--cached"]),
                _ => true,
            };
            if destroys {
                let mut targets = args.iter().enumerate().filter(|(at, arg)| {
                    let before = at.checked_sub(1).and_then(|before| args.get(before));
                    let left_out = |before: &Value| matches!(&*before.text, "-e" | "--exclude");
                    !arg.text.starts_with('-') && !before.is_some_and(left_out)
                });
                let target = targets
                    .next()
                    .map_or("working tree", |(_, arg)| arg.text.as_str())
                    .to_owned();
                interp.destroy(&program, &target);
            } else if verb != "reflog" {
                interp.write(&Value::text(".git"), &Value::default(), &program);
            }
            Value::default()
        }
        "config" | "credential" => {
            let taint = interp.origin(Origin::Program(format!("git {verb}")));
            Value::unknown("", taint)
        }
        // What they print is the contents of the repository.
        "show" | "diff" | "log" | "cat-file" | "blame" | "grep" | "bundle" | "format-patch" => {
            let taint = interp.origin(Origin::File(".git".to_owned()));
            Value::unknown("", taint)
        }
        _ => Value::unknown("", Taint::default()),
    }
}

fn is_address(text: &str) -> bool {
    host::is_remote(text) || text.starts_with('$')
}

fn remote(
    interp: &mut Interp,
    address: Option<&Value>,
    transfer: Transfer,
    carries: Taint,
    program: &str,
) -> Value {
    let address = address.filter(|address| is_address(&address.text)).cloned();
    // A name stands for whatever `git remote add` said before, if it did.
    let address = address.or_else(|| interp.lookup("\0git remote"));
    match &address {
        Some(address) => {
            let host = host::remote_of(&address.text);
            let carries = carries.with(address.taint);
            interp.connect(&Connection {
                program,
                address: Some(address),
                host,
                transfer,
                carries,
                plain: Taint::default(),
                certain: true,
            })
        }
        None => interp.connect(&Connection {
            program,
            address: None,
            host: None,
            transfer,
            carries,
            plain: Taint::default(),
            certain: true,
        }),
    }
}
