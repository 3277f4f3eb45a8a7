//! What programs do: the name is resolved, then code of its own, the table, or a careful guess.

pub(super) mod builtins;
pub(super) mod carried;
pub(super) mod code;
pub(super) mod files;
pub(super) mod git;
pub(super) mod http;
mod markers;
mod orders;
pub(super) mod sockets;
pub(super) mod text;
mod told;
mod transfer;
pub(super) mod windows;
mod within;
pub(super) mod wrappers;

use mcpproxy_text::glob;

use super::effects::Connection;
use super::facts::{Dialect, Origin, Transfer, UnknownKind};
use super::host;
use super::interp::Interp;
use super::table::{self, Output, Role, Spec};
use super::value::{Taint, Value};

/// One program about to run.
pub(super) struct Invocation<'a> {
    pub(super) name: &'a str,
    pub(super) args: &'a [Value],
    pub(super) stdin: &'a Value,
}

/// Folders whose programs are known by their name alone.
const BIN_FOLDERS: &[&str] = &[
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/sbin",
    "/usr/sbin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/snap/bin",
];

/// Programs that publish what lies in a folder.
const PACKERS: [&str; 9] = [
    "npm", "pnpm", "yarn", "cargo", "twine", "docker", "podman", "helm", "nerdctl",
];

/// Programs that have code of their own, in the order in which they are asked, after the builtins.
const HANDLERS: &[fn(&mut Interp, &Invocation<'_>) -> Option<Value>] = &[
    wrappers::run,
    within::run,
    text::run,
    http::run,
    git::run,
    files::run,
    sockets::run,
    code::run,
    windows::run,
];

impl Interp {
    /// Runs a command given as fields.
    pub(super) fn program(&mut self, mut words: Vec<Value>, stdin: &Value) -> Value {
        if words.is_empty() {
            return Value::default();
        }
        let first = words.remove(0);
        if first.taint.meets(self.remote) {
            self.facts.fetches_and_runs = true;
        }
        if glob::is_pattern(&first.text)
            && first.text.len() <= 64
            && first.text.len() > 1
            && first.text != "["
        {
            return self.matching(&first, &words, stdin);
        }
        if first.text.contains('$') || (first.text.is_empty() && !first.known) {
            self.unknown(UnknownKind::Program, &first.text);
            // `$HOME/bin/curl`: which folder is not known, and the program is.
            let base = first.text.rsplit('/').next().unwrap_or_default();
            if base.is_empty() || base.contains('$') {
                return self.guess("?", &words, stdin);
            }
        }
        self.named(&first, &words, stdin)
    }

    /// Runs whatever program a pattern may stand for.
    fn matching(&mut self, pattern: &Value, args: &[Value], stdin: &Value) -> Value {
        self.unknown(UnknownKind::Program, &pattern.text);
        // Every name is tried.
        if self.spent(16 * 1024) {
            return Value::unknown("", stdin.taint);
        }
        let base = pattern.text.rsplit('/').next().unwrap_or_default();
        let first = ["mcpproxy", "mcpproxy-rest"].into_iter();
        let known = first.chain(table::names()).chain([
            "curl", "wget", "git", "bash", "sh", "python", "python3", "node", "perl",
        ]);
        let names: Vec<&str> = known
            .filter(|name| glob::matches(base, name))
            .take(4)
            .collect();
        if names.is_empty() {
            return self.guess("?", args, stdin);
        }
        let mut out = Value::default();
        for name in names {
            let value = self.named(&Value::text(name), args, stdin);
            out.push(&value);
        }
        out.known = false;
        out
    }

    fn named(&mut self, first: &Value, args: &[Value], stdin: &Value) -> Value {
        let path = first.text.as_str();
        let (folder, base) = path.rsplit_once(['/', '\\']).unwrap_or(("", path));
        let name = program_name(base);
        if folder.is_empty() {
            if let Some(value) = self.alias(base, args, stdin) {
                return value;
            }
            if let Some(value) = self.call(base, args.to_vec(), stdin) {
                return value;
            }
        }
        told::note(self, &name, args);
        told::hand(self, &name, args);
        if !folder.is_empty() && !BIN_FOLDERS.contains(&folder) {
            return self.elsewhere(first, &name, args, stdin);
        }
        self.ran(&name);
        self.run(&name, args, stdin)
    }

    fn ran(&mut self, name: &str) {
        let programs = &mut self.facts.programs;
        if programs.len() < 256 && !programs.iter().any(|known| known == name) {
            programs.push(name.to_owned());
        }
    }

    /// Runs a program of a folder that is nobody's in particular. It is taken for what it is called,
    /// and for a program that nobody knows besides: a name may only make it worse.
    fn elsewhere(&mut self, path: &Value, name: &str, args: &[Value], stdin: &Value) -> Value {
        let base = path.text.rsplit(['/', '\\']).next().unwrap_or_default();
        let value = self.run_file(path, base, stdin);
        let invocation = Invocation { name, args, stdin };
        let spec = table::find(name, args);
        self.ran(if spec.is_some() { name } else { &path.text });
        // Builtins have no file, and would change what is meant by what comes after.
        let known = self.handled(&invocation);
        match (known, spec) {
            (Some(known), Some(_)) => known,
            (None, Some(spec)) => self.by_table(spec, &invocation),
            (known, None) => {
                let mut out = self.guess(base, args, stdin);
                out.push(&value);
                out.push(&known.unwrap_or_default());
                out
            }
        }
    }

    /// Runs a program whose name is resolved.
    pub(super) fn run(&mut self, name: &str, args: &[Value], stdin: &Value) -> Value {
        let invocation = Invocation { name, args, stdin };
        // In the dialects of Windows a name may mean another program.
        if self.dialect != Dialect::Posix
            && let Some(value) = windows::run(self, &invocation)
        {
            return value;
        }
        if let Some(value) = builtins::run(self, &invocation) {
            return value;
        }
        let carried = carried::run(self, &invocation);
        let mut out = match (self.handled(&invocation), table::find(name, args)) {
            (Some(value), _) => value,
            (None, Some(spec)) => self.by_table(spec, &invocation),
            (None, None) => self.guess(name, args, stdin),
        };
        if let Some(carried) = carried {
            out.push(&carried);
        }
        out
    }

    fn handled(&mut self, invocation: &Invocation<'_>) -> Option<Value> {
        HANDLERS
            .iter()
            .find_map(|handler| handler(self, invocation))
    }

    fn alias(&mut self, name: &str, args: &[Value], stdin: &Value) -> Option<Value> {
        // Taken out while it runs: an alias does not expand itself.
        let text = self.aliases.remove(name)?;
        let mut code = Value::text(text.clone());
        for arg in args {
            code.push(&arg.derive(quote(&arg.text)));
        }
        let value = self.run_code(&code, stdin);
        self.aliases.insert(name.to_owned(), text);
        Some(value)
    }

    /// Follows a line of the table.
    fn by_table(&mut self, spec: &Spec, invocation: &Invocation<'_>) -> Value {
        let Invocation { name, args, stdin } = *invocation;
        let verbs = table::verbs(name, args);
        let arguments = spec.arguments(args, verbs);
        if spec.output == Output::Copy {
            return self.copy(invocation, spec, &arguments.values);
        }
        let mut gathered = self.gather(name, &arguments.values, stdin);
        let no_file = !arguments
            .values
            .iter()
            .any(|(role, value)| *role == Role::Read && !value.text.is_empty());
        if spec.stdin
            || (no_file
                && ((spec.output == Output::Pass)
                    || spec.transfer == Some(Transfer::Upload) && gathered.dash))
        {
            gathered.content.push(stdin);
        }
        if spec.transfer == Some(Transfer::Upload) && PACKERS.contains(&name) {
            // What is published is what lies in the folder, and what was put there just before.
            gathered.content.taint.join(self.written_here());
        }
        if spec.output == Output::Pass {
            // Said even when files are named: better one flow too many than one lost.
            gathered.content.taint.join(stdin.taint);
        }
        if spec.orders {
            let orders = std::mem::take(&mut gathered.content.text);
            let sent = self.orders(&orders, name, stdin);
            gathered.content.push(&sent);
        }
        self.fifo |= matches!(name, "mkfifo" | "mknod");
        if no_file {
            // What the program itself puts there is not known.
            gathered.content.known = false;
        }
        for path in &gathered.written {
            self.write(path, &gathered.content, name);
        }
        if matches!(name, "cp" | "install" | "ditto" | "mv" | "rename" | "ln") {
            let sources = arguments.values.iter();
            let sources = sources.filter(|(role, _)| *role == Role::Read);
            let sources: Vec<_> = sources.map(|(_, source)| source).collect();
            for folder in &gathered.written {
                self.put_into(folder, &sources, &gathered.content);
            }
        }
        if let Some(transfer) = spec.transfer {
            return self.transfer(invocation, spec, transfer, &gathered);
        }
        if spec.output == Output::Info {
            let label = info_label(name, args, verbs);
            let taint = self.origin(Origin::Program(label));
            return Value::unknown("", taint.with(stdin.taint));
        }
        let printed = |path: &Value| matches!(path.text.as_str(), "-" | "/dev/stdout");
        if spec.output == Output::Pass || gathered.written.iter().any(printed) {
            gathered.content.known = false;
            gathered.content.text.clear();
            return gathered.content;
        }
        Value::unknown("", Taint::default())
    }

    /// Reads, removes and runs what the roles say; gives what is left to send or write.
    pub(super) fn gather(
        &mut self,
        name: &str,
        values: &[(Role, Value)],
        stdin: &Value,
    ) -> Gathered {
        let mut gathered = Gathered::default();
        for (role, value) in values {
            match role {
                // `kubectl apply -f https://…` takes what stands there.
                Role::Read if host::is_url(&value.text) => {
                    let host = host::host_of(&value.text);
                    let fetched = self.connect(&Connection {
                        program: name,
                        address: Some(value),
                        host,
                        transfer: Transfer::Fetch,
                        carries: value.taint,
                        plain: value.taint,
                        certain: true,
                    });
                    gathered.content.push(&fetched);
                }
                Role::Read => {
                    gathered.dash |= value.text == "-";
                    // `-v /etc:/mnt` and the like: the local half.
                    let read = self.read(value, name, stdin);
                    gathered.content.push(&read);
                }
                Role::Written => gathered.written.push(value.clone()),
                Role::Removed => {
                    let whole = self.resolve(&value.text);
                    self.destroy(name, &whole);
                }
                Role::Host | Role::Url => {
                    gathered.content.taint.join(value.taint);
                    gathered.addresses.push((*role, value.clone()));
                }
                Role::Data => gathered.content.push(value),
                // What a program logs in with is not what it sends.
                Role::Login => {
                    self.read(value, name, stdin);
                }
                Role::AtData | Role::Form => {
                    let data = self.at_data(value, name, stdin, *role == Role::Form);
                    gathered.content.push(&data);
                }
                // What stands in the command is there once it runs.
                Role::Shell => {
                    gathered.content.taint.join(value.taint);
                    gathered.shell.push(value.clone());
                }
                Role::Code => {
                    let read = code::scan(self, &value.text, name, stdin);
                    gathered.content.push(&read);
                }
                Role::Remote | Role::Ignored | Role::Pattern | Role::PatternOption => {}
            }
        }
        gathered
    }

    /// Reads `@file`, `name=@file`, `name@file` and plain data.
    pub(super) fn at_data(
        &mut self,
        value: &Value,
        name: &str,
        stdin: &Value,
        form: bool,
    ) -> Value {
        let file = match value.text.split_once(['@', '<']) {
            Some(("", file)) => Some(file),
            Some((key, file)) if form || !key.contains(['=', ' ', '{', '"', '/', ':', '&']) => {
                (!form || key.ends_with('=')).then_some(file)
            }
            _ => None,
        };
        let Some(file) = file else {
            return value.clone();
        };
        // `grpcurl -d @` takes its input.
        let file = if file.is_empty() { "-" } else { file };
        let file = if form {
            file.split(';').next().unwrap_or_default()
        } else {
            file
        };
        let mut read = self.read(&value.derive(file), name, stdin);
        read.taint.join(value.taint);
        read
    }

    /// Treats a program that nobody knows: paths may be read, URLs may be reached.
    pub(super) fn guess(&mut self, name: &str, args: &[Value], stdin: &Value) -> Value {
        let mut content = Value::unknown("", stdin.taint);
        let mut addresses = Vec::new();
        for arg in args {
            let text = arg.text.as_str();
            let text = match text.split_once('=') {
                Some((option, value)) if option.starts_with('-') => value,
                _ => text,
            };
            let (text, marked) = text
                .strip_prefix('@')
                .map_or((text, false), |text| (text, true));
            content.taint.join(arg.taint);
            if host::is_url(text) {
                addresses.push(arg.derive(text));
            } else if marked || (!text.starts_with('-') && host::looks_like_path(text)) {
                let read = self.read_as(&arg.derive(text), name, stdin, false);
                content.taint.join(read.taint);
            }
        }
        for address in addresses {
            let host = host::host_of(&address.text);
            let transfer = if content.taint.is_empty() {
                Transfer::Fetch
            } else {
                Transfer::Upload
            };
            let value = self.connect(&Connection {
                program: name,
                address: Some(&address),
                host,
                transfer,
                carries: content.taint,
                // What is a login to a program that nobody knows, is not known either.
                plain: Taint::default(),
                certain: false,
            });
            content.taint.join(value.taint);
        }
        content
    }

    /// Walks a command that runs on another machine: its files are not ours.
    pub(super) fn remote_shell(&mut self, words: &[Value], stdin: &Value) {
        let mut code = Value::default();
        for word in words {
            code.push(&word.derive(format!("{} ", word.text)));
        }
        if code.text.trim().is_empty() {
            return;
        }
        let kept = (
            self.facts.reads.len(),
            self.facts.writes.len(),
            self.facts.runs.len(),
            self.facts.unknown.len(),
        );
        let (destroyed, flows) = (self.facts.destructive.len(), self.facts.flows.len());
        let (sends, fetched) = (self.facts.sends.len(), self.facts.fetches_and_runs);
        let (told, handed) = (self.facts.told.len(), self.facts.handed.len());
        self.run_code(&code, &Value::unknown("", stdin.taint));
        self.facts.reads.truncate(kept.0);
        self.facts.writes.truncate(kept.1);
        self.facts.runs.truncate(kept.2);
        self.facts.unknown.truncate(kept.3);
        self.facts.flows.truncate(flows);
        self.facts.sends.truncate(sends);
        self.facts.told.truncate(told);
        self.facts.handed.truncate(handed);
        self.facts.fetches_and_runs = fetched;
        // What it removes there is still removed.
        for destruction in self.facts.destructive.iter_mut().skip(destroyed) {
            destruction.program.insert_str(0, "remote ");
        }
    }
}

/// What the arguments of a program amount to.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) content: Value,
    pub(super) written: Vec<Value>,
    pub(super) addresses: Vec<(Role, Value)>,
    pub(super) shell: Vec<Value>,
    pub(super) dash: bool,
}

/// Gives the name that the table knows a program by.
pub(super) fn program_name(base: &str) -> String {
    let lower = base.to_ascii_lowercase();
    for end in [".exe", ".cmd", ".bat", ".com"] {
        if let Some(stem) = lower.strip_suffix(end) {
            return stem.to_owned();
        }
    }
    base.to_owned()
}

fn info_label(name: &str, args: &[Value], verbs: usize) -> String {
    let mut label = name.to_owned();
    for arg in args
        .iter()
        .filter(|arg| !arg.text.starts_with('-'))
        .take(verbs.max(usize::from(verbs > 0)))
    {
        label.push(' ');
        label.push_str(&arg.text);
    }
    label
}

/// Says whether an operand of a program that connects is an address at all.
fn reaches_out(text: &str, transfer: Transfer, local: bool) -> bool {
    if text.is_empty() || text.starts_with(['+', '@']) && transfer == Transfer::Lookup {
        return text.starts_with('@');
    }
    if local {
        return host::is_url(text);
    }
    if transfer == Transfer::Lookup {
        const TYPES: &[&str] = &[
            "a", "aaaa", "txt", "mx", "ns", "any", "cname", "soa", "ptr", "srv", "axfr", "in",
        ];
        return !TYPES.contains(&text.to_ascii_lowercase().as_str())
            && !text.bytes().all(|byte| byte.is_ascii_digit());
    }
    !text.starts_with('-')
}

/// Says whether an operand of a copy is on another machine.
fn is_remote_place(name: &str, text: &str) -> bool {
    match name {
        // A pod: `[namespace/]pod:path`.
        "kubectl" | "oc" => text.contains(':') && !text.starts_with(['/', '.', '~']),
        // Containers are on this machine.
        "docker" | "podman" => false,
        _ => host::is_remote(text),
    }
}

fn quote(text: &str) -> String {
    format!(" '{}'", text.replace('\'', "'\\''"))
}
