//! What commands do to the world, written down: reads, writes, connections, code that is run.

use std::ops::Range;

use super::facts::{Access, Destruction, Flow, Origin, Send, Transfer, Unknown, UnknownKind};
use super::host;
use super::interp::Interp;
use super::value::{Taint, Value};

/// How many facts of each kind are kept.
const MAX_FACTS: usize = 1024;
/// How many files written by the command itself are remembered.
const MAX_FILES: usize = 512;

/// Which list of accesses a file belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Touch {
    Read,
    Write,
    Run,
}

/// A connection about to be made.
pub(super) struct Connection<'a> {
    pub(super) program: &'a str,
    /// The address as written; none for the host that is given.
    pub(super) address: Option<&'a Value>,
    pub(super) host: Option<String>,
    pub(super) transfer: Transfer,
    pub(super) carries: Taint,
    /// What of it stands in a body or an address, and not where services look for a login.
    pub(super) plain: Taint,
    pub(super) certain: bool,
}

impl Interp {
    fn here(&self) -> Range<usize> {
        self.span.clone()
    }

    pub(super) fn origin(&mut self, origin: Origin) -> Taint {
        if let Some(index) = self.origin_index.get(&origin) {
            return Taint::of(*index);
        }
        if self.origins.len() >= Taint::CAPACITY {
            self.limit("origins");
            return Taint::of(Taint::CAPACITY - 1);
        }
        let index = self.origins.len();
        let taint = Taint::of(index);
        if matches!(origin, Origin::Remote(_)) {
            self.remote.join(taint);
        }
        self.origin_index.insert(origin.clone(), index);
        self.origins.push(origin);
        taint
    }

    fn origins_of(&self, taint: Taint) -> Vec<Origin> {
        let known = |index| self.origins.get(index).cloned();
        taint.indices().filter_map(known).collect()
    }

    pub(super) fn unknown(&mut self, kind: UnknownKind, text: &str) {
        let span = self.here();
        let text: String = text.chars().take(120).collect();
        let unknown = Unknown { kind, text, span };
        if self.facts.unknown.len() < 64 && !self.facts.unknown.contains(&unknown) {
            self.facts.unknown.push(unknown);
        }
    }

    pub(super) fn limit(&mut self, what: &str) {
        self.unknown(UnknownKind::Limit, what);
    }

    /// Makes a path as whole as it can be: relative to where the command has gone.
    pub(super) fn resolve(&self, path: &str) -> String {
        match &self.folder {
            Some(folder) if !path.starts_with(['/', '~', '$']) && !path.contains(":\\") => {
                let path = path.strip_prefix("./").unwrap_or(path);
                format!("{}/{path}", folder.trim_end_matches('/'))
            }
            _ => path
                .strip_prefix("./")
                .filter(|rest| !rest.is_empty())
                .unwrap_or(path)
                .to_owned(),
        }
    }

    fn touch(&mut self, touch: Touch, path: &str, program: &str, certain: bool) {
        let span = self.here();
        if path.is_empty()
            || !self
                .seen
                .insert((touch, path.to_owned(), program.to_owned(), span.start))
        {
            return;
        }
        let list = match touch {
            Touch::Read => &mut self.facts.reads,
            Touch::Write => &mut self.facts.writes,
            Touch::Run => &mut self.facts.runs,
        };
        if list.len() < MAX_FACTS {
            list.push(Access {
                path: path.to_owned(),
                program: program.to_owned(),
                certain,
                span,
            });
        } else {
            self.limit("facts");
        }
    }

    /// Reads a file and gives what comes out of it.
    pub(super) fn read(&mut self, path: &Value, program: &str, stdin: &Value) -> Value {
        self.read_as(path, program, stdin, true)
    }

    pub(super) fn read_as(
        &mut self,
        path: &Value,
        program: &str,
        stdin: &Value,
        certain: bool,
    ) -> Value {
        match path.text.as_str() {
            "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => return stdin.clone(),
            "" if path.known => return Value::default(),
            "/dev/null" | "/dev/zero" | "/dev/random" | "/dev/urandom" | "/dev/tty" => {
                return Value::unknown("", Taint::default());
            }
            _ => {}
        }
        if let Some(host) = device_host(&path.text) {
            return self.device(host, path, program, Taint::default());
        }
        if let Some(content) = self.pipes.get(&path.text) {
            return content.clone();
        }
        if path.text.starts_with('$') && !path.known && !path.text.contains('/') {
            self.unknown(UnknownKind::Path, &path.text);
        }
        let whole = self.resolve(&path.text);
        self.touch(Touch::Read, &whole, program, certain);
        let taint = self.origin(Origin::File(whole.clone()));
        match self.files.get(&whole) {
            Some(content) => {
                let mut content = content.clone();
                content.taint.join(taint);
                content
            }
            None => Value::unknown("", taint.with(path.taint)),
        }
    }

    /// Writes a file with what goes into it.
    pub(super) fn write(&mut self, path: &Value, content: &Value, program: &str) {
        match path.text.as_str() {
            "" | "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/fd/1"
            | "/dev/fd/2" | "NUL" | "nul" | "$null" => return,
            _ => {}
        }
        if let Some(host) = device_host(&path.text) {
            self.device(host, path, program, content.taint);
            return;
        }
        if let Some(script) = self.drains.get(&path.text).cloned() {
            self.nested(|interp| interp.script(&script, content));
            return;
        }
        if path.text.starts_with("/dev/sd")
            || path.text.starts_with("/dev/nvme")
            || path.text.starts_with("/dev/disk")
        {
            self.destroy(program, &path.text);
        }
        let whole = self.resolve(&path.text);
        self.touch(Touch::Write, &whole, program, true);
        if self.files.len() < MAX_FILES {
            self.files
                .entry(whole)
                .or_insert_with(|| Value::text(""))
                .push(content);
        } else {
            self.limit("files");
        }
    }

    /// Remembers what a copy puts into a folder. Whether a path is one is not known; where it is not,
    /// nobody reads below it.
    pub(super) fn put_into(&mut self, folder: &Value, sources: &[&Value], content: &Value) {
        // Of several files it is only known where all of them come from.
        let each = match sources {
            [_] => content.clone(),
            _ => Value::unknown("", content.taint),
        };
        let folder = folder.text.trim_end_matches('/');
        for source in sources {
            let source = source.text.trim_end_matches('/');
            let base = source.rsplit(['/', ':']).next().unwrap_or_default();
            if base.is_empty() || matches!(base, "." | "..") {
                continue;
            }
            let whole = self.resolve(&[folder, "/", base].concat());
            if self.files.len() >= MAX_FILES {
                self.limit("files");
                return;
            }
            let empty = || Value::text("");
            self.files.entry(whole).or_insert_with(empty).push(&each);
        }
    }

    /// Returns where that comes from which the command itself has put below the current folder.
    pub(super) fn written_here(&self) -> Taint {
        let here = self.folder.as_deref().unwrap_or_default();
        let below = |path: &str| match here {
            "" => !path.starts_with(['/', '~', '$']),
            here => path.starts_with(here),
        };
        let files = self.files.iter().filter(|(path, _)| below(path));
        files.fold(Taint::default(), |taint, (_, content)| {
            taint.with(content.taint)
        })
    }

    /// Notes that a file is run, and runs it if its contents are known.
    pub(super) fn run_file(&mut self, path: &Value, program: &str, stdin: &Value) -> Value {
        let piped = self.pipes.get(&path.text).cloned();
        if let Some(code) = piped {
            return self.run_code(&code, stdin);
        }
        if matches!(path.text.as_str(), "-" | "/dev/stdin" | "/dev/fd/0") {
            return self.run_code(stdin, &Value::default());
        }
        let whole = self.resolve(&path.text);
        self.touch(Touch::Run, &whole, program, true);
        if let Some(host) = device_host(&path.text) {
            let code = self.device(host, path, program, Taint::default());
            return self.run_code(&code, stdin);
        }
        match self.files.get(&whole).cloned() {
            Some(code) => self.run_code(&code, stdin),
            None => Value::unknown("", stdin.taint),
        }
    }

    pub(super) fn destroy(&mut self, program: &str, target: &str) {
        let span = self.here();
        let destruction = Destruction {
            program: program.to_owned(),
            target: target.to_owned(),
            span,
        };
        if self.facts.destructive.last() != Some(&destruction)
            && self.facts.destructive.len() < MAX_FACTS
        {
            self.facts.destructive.push(destruction);
        }
    }

    fn device(&mut self, host: &str, path: &Value, program: &str, carries: Taint) -> Value {
        let transfer = if carries.is_empty() {
            Transfer::Session
        } else {
            Transfer::Upload
        };
        let host = host::host_of(host);
        let taint = path.taint.with(carries);
        self.connect(&Connection {
            program,
            address: Some(path),
            host,
            transfer,
            carries: taint,
            plain: taint,
            certain: true,
        })
    }

    /// Writes down a connection and the flow it makes; gives what may come back.
    pub(super) fn connect(&mut self, connection: &Connection<'_>) -> Value {
        let span = self.here();
        let host = connection.host.clone();
        let carries = connection.carries;
        if host.is_none() {
            self.unknown(
                UnknownKind::Host,
                connection
                    .address
                    .map_or(connection.program, |value| &value.text),
            );
        }
        let send = Send {
            program: connection.program.to_owned(),
            host: host.clone(),
            url: connection.address.map(|value| value.text.clone()),
            transfer: connection.transfer,
            certain: connection.certain,
            span: span.clone(),
        };
        let key = format!(
            "{}\0{}\0{:?}",
            send.program,
            send.url.as_deref().or(send.host.as_deref()).unwrap_or(""),
            send.transfer
        );
        if self.sent.insert((key.clone(), span.start)) {
            if self.facts.sends.len() < MAX_FACTS {
                self.facts.sends.push(send);
            } else {
                self.limit("facts");
            }
        }
        if !carries.is_empty() {
            let flow = Flow {
                from: self.origins_of(carries),
                plain: self.origins_of(connection.plain),
                to: host.clone(),
                program: connection.program.to_owned(),
                span,
            };
            if self.facts.flows.len() < MAX_FACTS
                && !self
                    .facts
                    .flows
                    .iter()
                    .rev()
                    .take(16)
                    .any(|known| *known == flow)
            {
                self.facts.flows.push(flow);
            }
        }
        let remote = self.origin(Origin::Remote(host.unwrap_or_else(|| "*".to_owned())));
        Value::unknown("", remote)
    }
}

/// Gives the host of bash's `/dev/tcp/host/port`.
fn device_host(path: &str) -> Option<&str> {
    let rest = path
        .strip_prefix("/dev/tcp/")
        .or_else(|| path.strip_prefix("/dev/udp/"))?;
    rest.split('/').next()
}

impl Interp {
    /// Notes that a file is run by another interpreter; gives its contents if they are known.
    pub(super) fn run_foreign(&mut self, path: &Value, program: &str) -> Option<Value> {
        if let Some(code) = self.pipes.get(&path.text) {
            return Some(code.clone());
        }
        let whole = self.resolve(&path.text);
        self.touch(Touch::Run, &whole, program, true);
        self.files.get(&whole).cloned()
    }
}
