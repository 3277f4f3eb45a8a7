//! Programs that run a command within something of this machine: a container, a pod, or a terminal
//! that goes on when the command is over.

use super::super::interp::Interp;
use super::super::table;
use super::super::value::Value;
use super::{Invocation, builtins, files};

/// Options of container programs, before and after the verb, that take a value.
const VALUED: &str = "-a --attach --add-host --annotation --blkio-weight -c --cap-add --cap-drop --cgroup-parent --cgroupns \
    --cidfile --config --container --context --cpu-shares --cpus --cpuset-cpus --detach-keys --device --dns --domainname -e \
    --entrypoint --env --env-file --expose -f --file --filename --gpus --group-add -H -h --host --hostname --image --index --ip \
    --ipc --kubeconfig -l --label --link --log-driver --log-opt --log-level --mac-address -m --memory --memory-swap --mount -n \
    --name --namespace --network --net --network-alias -p --pid --pids-limit --platform --profile --project-name --publish \
    --pull --restart --runtime -s --security-opt --server --shm-size --stop-signal --stop-timeout --storage-opt --sysctl --tmpfs \
    -u --ulimit --user --userns --uts -v --volume --volumes-from -w --workdir";
/// Options of programs with guests, after the verb, that take a value.
const GUEST_VALUED: &str = "-c --container -d --distro -r --release -n --name -w --workdir";
/// Where options of tmux, and of its commands, take a value.
const TMUX_VALUED: &str = "-L -S -f -T -t -s -n -c -F -x -y -e -l -p -N";
/// Where options of screen take a value.
const SCREEN_VALUED: &str = "-S -t -T -e -h -c -p -s -O";
/// Names of keys, which are no text.
const KEYS: [&str; 8] = [
    "Enter", "C-m", "C-j", "KPEnter", "C-c", "C-u", "Escape", "C-l",
];

pub(super) fn run(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    match invocation.name {
        "docker" | "podman" | "nerdctl" | "docker-compose" | "podman-compose" | "kubectl"
        | "oc" => container(interp, invocation),
        "lxc" | "incus" | "distrobox" | "toolbox" | "limactl" | "colima" | "multipass"
        | "vagrant" => guest(interp, invocation),
        "tmux" => tmux(interp, invocation),
        "screen" => screen(interp, invocation),
        "zellij" => zellij(interp, invocation),
        _ => None,
    }
}

/// Options and operands told apart, and the command that comes after as many operands as are asked for.
struct Split<'a> {
    options: Vec<(&'a str, Option<Value>)>,
    operands: Vec<&'a Value>,
    rest: &'a [Value],
}

fn split<'a>(args: &'a [Value], valued: &str, operands: usize) -> Split<'a> {
    let mut found = Split {
        options: Vec::new(),
        operands: Vec::new(),
        rest: args,
    };
    while let Some((first, more)) = found.rest.split_first() {
        let text = first.text.as_str();
        if operands > 0 && found.operands.len() == operands {
            break;
        }
        if text == "--" {
            found.rest = more;
            if operands == 0 {
                break;
            }
        } else if text.starts_with('-') && text.len() > 1 {
            let takes = valued.split_ascii_whitespace().any(|known| known == text);
            match text.split_once('=') {
                Some((name, value)) => found.options.push((name, Some(first.derive(value)))),
                None if takes => found.options.push((text, more.first().cloned())),
                None => found.options.push((text, None)),
            }
            found.rest = more.get(usize::from(takes)..).unwrap_or_default();
        } else if found.operands.len() < operands {
            found.operands.push(first);
            found.rest = more;
        } else {
            break;
        }
    }
    found
}

/// `docker exec NAME command`, `docker run IMAGE command`, and the same of compose and of clusters.
fn container(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { name, args, stdin } = *invocation;
    let mut args = args;
    let before = split(args, VALUED, 1);
    if before.operands.first()?.text == "compose" {
        args = before.rest;
    }
    let verb = split(args, VALUED, 1);
    if !matches!(
        verb.operands.first()?.text.as_str(),
        "exec" | "run" | "create"
    ) {
        return None;
    }
    let found = split(verb.rest, VALUED, 1);
    let marked = found.rest.iter().position(|arg| arg.text == "--");
    let command = match marked.and_then(|at| found.rest.get(at + 1..)) {
        // Only in a cluster do options come after the name.
        Some(command) if matches!(name, "kubectl" | "oc") => command,
        Some(_) | None => found.rest,
    };
    let entry = found
        .options
        .iter()
        .filter(|(option, _)| *option == "--entrypoint")
        .find_map(|(_, value)| value.clone());
    let mounts = mounts(&found.options);
    let words: Vec<Value> = entry
        .into_iter()
        .chain(command.iter().cloned())
        .map(|word| outside(word, &mounts))
        .collect();
    let mut out = Value::default();
    if !words.is_empty() {
        out = interp.nested(|interp| interp.program(words, stdin));
    }
    files::run(interp, invocation);
    if let Some(spec) = table::find(name, invocation.args) {
        let known = interp.by_table(spec, invocation);
        out.push(&known);
    }
    Some(out)
}

/// Which folder of this machine is found where in the container.
fn mounts(options: &[(&str, Option<Value>)]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (option, value) in options {
        let Some(value) = value else { continue };
        let pair = match *option {
            "-v" | "--volume" => value.text.split_once(':').map(|(from, to)| {
                let to = to.split(':').next().unwrap_or_default();
                (from.to_owned(), to.to_owned())
            }),
            "--mount" => {
                let part = |names: [&str; 3]| {
                    let parts = value
                        .text
                        .split(',')
                        .filter_map(|part| part.split_once('='));
                    let mut named = parts.filter(|(name, _)| names.contains(name));
                    named.next().map(|(_, path)| path.to_owned())
                };
                let from = part(["source", "src", "from"]);
                from.zip(part(["target", "destination", "dst"]))
            }
            _ => None,
        };
        found.extend(pair.filter(|(_, to)| to.len() > 1));
    }
    found
}

/// Names a path within the container as it is named outside.
fn outside(word: Value, mounts: &[(String, String)]) -> Value {
    let mut word = word;
    for (from, to) in mounts {
        if word.text.contains(to) {
            word.text = word.text.replace(to, from.trim_end_matches('/'));
        }
    }
    word
}

/// `lxc exec NAME -- command`, `toolbox run command`, `vagrant ssh -c command`.
fn guest(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { args, stdin, .. } = *invocation;
    let verb = args.first()?.text.as_str();
    if !matches!(verb, "exec" | "enter" | "run" | "shell" | "ssh") {
        return None;
    }
    let after = |mark: &str| {
        let at = args.iter().position(|arg| arg.text == mark)?;
        args.get(at + 1..).filter(|rest| !rest.is_empty())
    };
    if verb == "ssh"
        && let Some([code, ..]) = after("-c")
    {
        return Some(interp.nested(|interp| interp.run_code(code, stdin)));
    }
    let unmarked = || {
        let guests = usize::from(verb != "run");
        let rest = split(args.get(1..).unwrap_or_default(), GUEST_VALUED, guests).rest;
        split(rest, GUEST_VALUED, 0).rest
    };
    let words = after("--").unwrap_or_else(unmarked);
    Some(interp.nested(|interp| interp.program(words.to_vec(), stdin)))
}

/// What is typed into a terminal of tmux, or started in a new one.
fn tmux(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { args, stdin, .. } = *invocation;
    let verb = split(args, TMUX_VALUED, 1);
    let words = split(verb.rest, TMUX_VALUED, 0).rest;
    let typed = match verb.operands.first()?.text.as_str() {
        "send-keys" | "send" => true,
        "new-session" | "new" | "new-window" | "neww" | "split-window" | "splitw"
        | "respawn-pane" | "respawnp" | "respawn-window" | "respawnw" | "run-shell" | "run"
        | "pipe-pane" | "pipep" | "display-popup" | "popup" | "if-shell" | "if" => false,
        _ => return None,
    };
    let words: Vec<Value> = words
        .iter()
        .filter(|word| !(typed && KEYS.contains(&word.text.as_str())))
        .cloned()
        .collect();
    let code = builtins::join(&words);
    Some(interp.nested(|interp| interp.run_code(&code, stdin)))
}

/// `screen -dmS name command`, and what is typed with `screen -X stuff`.
fn screen(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { args, stdin, .. } = *invocation;
    let valued = format!("{SCREEN_VALUED} -dmS -mdS -DmS -AdmS");
    let found = split(args, &valued, 0);
    let ordered = found.options.iter().any(|(option, _)| *option == "-X");
    let words = match found.rest {
        [order, typed @ ..] if ordered => match order.text.as_str() {
            "stuff" | "screen" | "exec" => typed,
            _ => return None,
        },
        words => words,
    };
    // What is typed ends with the key that sends it, in one of its spellings.
    let mut code = builtins::join(words);
    code.text = code.text.replace("^M", "\n").replace("\\n", "\n");
    Some(interp.nested(|interp| interp.run_code(&code, stdin)))
}

/// `zellij run -- command` and `zellij action write-chars text`.
fn zellij(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { args, stdin, .. } = *invocation;
    let texts: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
    let words = match texts.as_slice() {
        ["action", "write-chars", ..] => args.get(2..)?,
        ["run" | "r", ..] => {
            let at = texts.iter().position(|text| *text == "--")?;
            args.get(at + 1..)?
        }
        _ => return None,
    };
    let code = builtins::join(words);
    Some(interp.nested(|interp| interp.run_code(&code, stdin)))
}
