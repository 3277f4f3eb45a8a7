//! Walks a script as a shell would, with values known in part and nothing run.
//!
//! Each branch is walked, each loop body twice, and a variable set on a path that may not be taken
//! keeps its older values too; a command is walked once for each. What the walk meets is written
//! down by `effects`; what programs do with their arguments is in `programs`.

mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use super::effects::Touch;
use super::facts::{Analysis, Dialect, Origin, UnknownKind};
use super::syntax::{Command, Kind, Redirect, RedirectKind, Script};
use super::value::{HOLE, Taint, Value};
use super::{MAX_DEPTH, MAX_STEPS, MAX_WORK, programs};

/// How many values of one variable are followed.
const MAX_CHOICES: usize = 16;

/// The values a variable may have, the newest first; each is a list, of one for a scalar.
type Variable = Vec<Vec<Value>>;

/// Where a file descriptor leads.
#[derive(Clone)]
enum Descriptor {
    Path(Value),
    /// The standard output or error of the command.
    Output,
}

/// The state of the walk.
pub(super) struct Interp {
    pub(super) facts: Analysis,
    pub(super) origins: Vec<Origin>,
    pub(super) origin_index: BTreeMap<Origin, usize>,
    /// The origins that are somewhere else.
    pub(super) remote: Taint,
    pub(super) span: Range<usize>,
    pub(super) folder: Option<String>,
    pub(super) files: BTreeMap<String, Value>,
    /// What process substitutions give, by the path that stands for them.
    pub(super) pipes: BTreeMap<String, Value>,
    /// What process substitutions take.
    pub(super) drains: BTreeMap<String, Rc<Script>>,
    pub(super) seen: BTreeSet<(Touch, String, String, usize)>,
    pub(super) sent: BTreeSet<(String, usize)>,
    pub(super) aliases: BTreeMap<String, String>,
    pub(super) functions: BTreeMap<String, Rc<Command>>,
    pub(super) arguments: Vec<Value>,
    /// Where the code that is being walked comes from.
    pub(super) code_taint: Taint,
    /// The language of the code that is being walked.
    pub(super) dialect: Dialect,
    /// Whether a named pipe was made, through which a later command feeds an earlier one.
    pub(super) fifo: bool,
    variables: BTreeMap<String, Variable>,
    undo: Vec<(String, Option<Variable>)>,
    descriptors: BTreeMap<u32, Descriptor>,
    calling: Vec<String>,
    pub(super) depth: usize,
    steps: usize,
    work: usize,
    conditional: usize,
    looping: bool,
    choice: Option<usize>,
    choices: usize,
}

impl Interp {
    pub(super) fn new(facts: Analysis) -> Self {
        Self {
            dialect: facts.dialect,
            fifo: false,
            facts,
            origins: Vec::new(),
            origin_index: BTreeMap::new(),
            remote: Taint::default(),
            span: 0..0,
            folder: None,
            files: BTreeMap::new(),
            pipes: BTreeMap::new(),
            drains: BTreeMap::new(),
            seen: BTreeSet::new(),
            sent: BTreeSet::new(),
            aliases: BTreeMap::new(),
            functions: BTreeMap::new(),
            arguments: Vec::new(),
            code_taint: Taint::default(),
            variables: BTreeMap::new(),
            undo: Vec::new(),
            descriptors: BTreeMap::new(),
            calling: Vec::new(),
            depth: 0,
            steps: 0,
            work: 0,
            conditional: 0,
            looping: false,
            choice: None,
            choices: 1,
        }
    }

    /// Runs `inner` one level deeper, unless that is too deep.
    pub(super) fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Value) -> Value {
        if self.depth >= MAX_DEPTH {
            self.limit("nesting");
            return Value::unknown(HOLE, Taint::default());
        }
        self.depth += 1;
        let value = inner(self);
        self.depth -= 1;
        value
    }

    /// Says whether the budget is used up.
    pub(super) fn spent(&mut self, bytes: usize) -> bool {
        self.work = self.work.saturating_add(bytes);
        let spent = self.steps > MAX_STEPS || self.work > MAX_WORK;
        if spent {
            self.limit("steps");
        }
        spent
    }

    pub(super) fn script(&mut self, script: &Script, stdin: &Value) -> Value {
        let mut out = Value::default();
        for item in &script.items {
            if self.steps > MAX_STEPS || self.work > MAX_WORK {
                out.known = false;
                return out;
            }
            self.conditional += usize::from(item.conditional);
            let value = self.pipeline(&item.commands, stdin);
            self.conditional -= usize::from(item.conditional);
            out.push(&value);
        }
        out
    }

    fn pipeline(&mut self, commands: &[Command], stdin: &Value) -> Value {
        if let [command] = commands {
            return self.command(command, stdin);
        }
        let mut value = stdin.clone();
        let Some((last, before)) = commands.split_last() else {
            return value;
        };
        for command in before {
            value = self.scoped(|interp| interp.command(command, &value));
        }
        // Some shells run the last stage in the shell itself, so what it sets may last.
        self.command(last, &value)
    }

    /// Runs `inner` as in a subshell: what it sets does not last.
    fn scoped<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.undo.len();
        let folder = self.folder.clone();
        let value = inner(self);
        while self.undo.len() > mark {
            if let Some((name, old)) = self.undo.pop() {
                match old {
                    Some(old) => self.variables.insert(name, old),
                    None => self.variables.remove(&name),
                };
            }
        }
        self.folder = folder;
        value
    }

    fn command(&mut self, command: &Command, stdin: &Value) -> Value {
        self.steps += 1;
        if self.spent(stdin.text.len()) {
            return Value::unknown("", Taint::default());
        }
        let outer = std::mem::replace(&mut self.span, command.span.clone());
        let value = if let Kind::Simple { .. } = command.kind {
            self.each_choice(|interp| interp.once(command, stdin))
        } else {
            self.nested(|interp| interp.once(command, stdin))
        };
        self.span = outer;
        value
    }

    /// Runs `inner` for each combination of values that its variables may have.
    fn each_choice(&mut self, mut inner: impl FnMut(&mut Self) -> Value) -> Value {
        if self.choice.is_some() {
            return inner(self);
        }
        self.choices = 1;
        self.choice = Some(0);
        let mut value = inner(self);
        let mut next = 1;
        while next < self.choices.min(MAX_CHOICES) {
            self.choice = Some(next);
            self.steps += 1;
            let more = inner(self);
            value.push(&more);
            next += 1;
        }
        self.choice = None;
        value
    }

    fn once(&mut self, command: &Command, stdin: &Value) -> Value {
        if let Kind::Simple { words, .. } = &command.kind
            && words.first().and_then(super::syntax::Word::bare) == Some("exec")
            && words.len() == 1
        {
            self.redirect_all(&command.redirects);
            return Value::default();
        }
        let (mut input, mut outputs) = (None, Vec::new());
        for redirect in &command.redirects {
            self.redirect(redirect, stdin, &mut input, &mut outputs);
        }
        let value = self.kind(&command.kind, input.as_ref().unwrap_or(stdin));
        self.deliver(value, &outputs)
    }

    /// Sends the output of a command where its redirections lead.
    fn deliver(&mut self, value: Value, outputs: &[Value]) -> Value {
        if outputs.is_empty() {
            return value;
        }
        for path in outputs {
            self.write(path, &value, ">");
        }
        Value::default()
    }

    fn redirect(
        &mut self,
        redirect: &Redirect,
        stdin: &Value,
        input: &mut Option<Value>,
        outputs: &mut Vec<Value>,
    ) {
        match &redirect.kind {
            RedirectKind::In(word) => {
                let path = self.single(word);
                *input = Some(self.read(&path, "<", stdin));
            }
            RedirectKind::HereString(word) => {
                let mut text = self.single(word);
                text.text.push('\n');
                *input = Some(text);
            }
            RedirectKind::HereDoc(body) => {
                *input = Some(
                    body.get()
                        .map_or_else(Value::default, |word| self.single(word)),
                );
            }
            RedirectKind::Out(word) => {
                let path = self.single(word);
                // The standard error carries nothing that was read.
                if redirect.fd == Some(2) {
                    self.write(&path, &Value::default(), ">");
                } else {
                    outputs.push(path);
                }
            }
            RedirectKind::Both(word) => {
                let path = self.single(word);
                *input = Some(self.read(&path, "<", stdin));
                if redirect.fd == Some(1) {
                    outputs.push(path);
                }
            }
            RedirectKind::Copy(word) => {
                let target = self.single(word);
                if self.drains.contains_key(&target.text) {
                    outputs.push(target);
                    return;
                }
                if let Some(content) = self.pipes.get(&target.text) {
                    *input = Some(content.clone());
                    return;
                }
                let number = target.text.trim_end_matches('-').parse::<u32>().ok();
                if let (Some(0), Some(1 | 2), Some(path)) = (redirect.fd, number, outputs.last()) {
                    // `>& /dev/tcp/.. 0>&1`: what comes in is what was just opened.
                    *input = Some(self.read(&path.clone(), "<", stdin));
                    return;
                }
                let Some(Descriptor::Path(path)) =
                    number.and_then(|fd| self.descriptors.get(&fd)).cloned()
                else {
                    return;
                };
                if redirect.fd == Some(0) {
                    *input = Some(self.read(&path, "<", stdin));
                } else if redirect.fd != Some(2) {
                    outputs.push(path);
                }
            }
        }
    }

    /// Applies the redirections of a bare `exec`, which last.
    fn redirect_all(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            match &redirect.kind {
                RedirectKind::In(word) | RedirectKind::Out(word) | RedirectKind::Both(word) => {
                    let path = self.single(word);
                    if matches!(redirect.kind, RedirectKind::Out(_)) {
                        self.write(&path, &Value::default(), ">");
                    } else {
                        self.read(&path, "<", &Value::default());
                    }
                    let fd = redirect
                        .fd
                        .unwrap_or(u32::from(matches!(redirect.kind, RedirectKind::Out(_))));
                    if self.descriptors.len() < 64 {
                        self.descriptors.insert(fd, Descriptor::Path(path));
                    }
                }
                RedirectKind::Copy(word) => {
                    let target = self.single(word);
                    let number = target.text.trim_end_matches('-').parse::<u32>().ok();
                    let known = number.and_then(|fd| self.descriptors.get(&fd).cloned());
                    let leads = match known {
                        Some(known) => known,
                        None if self.drains.contains_key(&target.text) => Descriptor::Path(target),
                        None => Descriptor::Output,
                    };
                    self.descriptors.insert(redirect.fd.unwrap_or(1), leads);
                }
                RedirectKind::HereString(_) | RedirectKind::HereDoc(_) => {}
            }
        }
    }

    fn kind(&mut self, kind: &Kind, stdin: &Value) -> Value {
        match kind {
            Kind::Simple { assigns, words } => {
                let words = self.fields(words);
                if self.spent(words.iter().map(|word| word.text.len() + 16).sum()) {
                    return Value::unknown("", Taint::default());
                }
                self.set_all(assigns);
                if words.is_empty() {
                    // `$(<file)` is the contents of the file.
                    return if assigns.is_empty() {
                        stdin.clone()
                    } else {
                        Value::default()
                    };
                }
                let value = self.program(words, stdin);
                self.deliver_descriptor(value)
            }
            Kind::Group(script) => self.script(script, stdin),
            Kind::Subshell(script) => self.scoped(|interp| interp.script(script, stdin)),
            Kind::Branches(scripts) => {
                self.conditional += 1;
                let mut out = Value::default();
                for script in scripts {
                    let value = self.script(script, stdin);
                    out.push(&value);
                }
                self.conditional -= 1;
                out.known = false;
                out
            }
            Kind::Loop(scripts) => self.repeat(|interp| {
                let mut out = Value::default();
                for script in scripts {
                    let value = interp.script(script, stdin);
                    out.push(&value);
                }
                out
            }),
            Kind::For { name, words, body } => {
                let values = self.fields(words);
                if values.len() > MAX_CHOICES {
                    self.limit("values of a loop variable");
                }
                let one = values.len() == 1;
                let choices = values
                    .into_iter()
                    .take(MAX_CHOICES)
                    .map(|value| vec![value])
                    .collect();
                self.set(name, choices);
                let mut out = self.repeat(|interp| interp.script(body, stdin));
                out.known &= one;
                out
            }
            Kind::Function { name, body } => {
                self.functions.insert(name.clone(), Rc::clone(body));
                Value::default()
            }
            Kind::Test(words) => {
                for word in words {
                    self.single(word);
                }
                Value::default()
            }
        }
    }

    /// Follows `exec >file`: what a command prints then goes there.
    fn deliver_descriptor(&mut self, value: Value) -> Value {
        match self.descriptors.get(&1).cloned() {
            Some(Descriptor::Path(path)) => {
                self.write(&path, &value, ">");
                Value::default()
            }
            Some(Descriptor::Output) | None => value,
        }
    }

    /// Walks a loop body twice, so that what one round sets is seen by the next.
    fn repeat(&mut self, mut body: impl FnMut(&mut Self) -> Value) -> Value {
        self.conditional += 1;
        let outermost = !std::mem::replace(&mut self.looping, true);
        let mut out = body(self);
        if outermost {
            let again = body(self);
            out.taint.join(again.taint);
            self.looping = false;
        }
        self.conditional -= 1;
        out
    }

    pub(super) fn substitute(&mut self, script: &Script) -> Value {
        if script.items.is_empty() {
            return Value::unknown(HOLE, self.code_taint);
        }
        self.nested(|interp| interp.scoped(|interp| interp.script(script, &Value::default())))
    }

    pub(super) fn process(&mut self, script: &Rc<Script>, output: bool) -> Value {
        let path = format!("/dev/fd/pipe{}", self.pipes.len() + self.drains.len());
        if output {
            self.drains.insert(path.clone(), Rc::clone(script));
        } else {
            let value = self.substitute(script);
            self.pipes.insert(path.clone(), value);
        }
        Value::text(path)
    }

    /// Runs text as shell code.
    pub(super) fn run_code(&mut self, code: &Value, stdin: &Value) -> Value {
        if code.taint.meets(self.remote) {
            self.facts.fetches_and_runs = true;
        }
        if code.text.trim().is_empty() || code.text.trim() == HOLE {
            if !code.known {
                self.unknown(UnknownKind::Code, "");
            }
            return Value::unknown("", stdin.taint.with(code.taint));
        }
        self.steps += 1;
        if self.spent(code.text.len()) {
            return Value::unknown("", stdin.taint);
        }
        let outer = std::mem::replace(&mut self.code_taint, code.taint);
        let value = self.nested(|interp| {
            if let Ok(script) = super::parse_as(
                interp.dialect,
                &code.text,
                interp.depth,
                Some(interp.span.clone()),
            ) {
                interp.script(&script, stdin)
            } else {
                interp.unknown(UnknownKind::Unparsed, &code.text);
                programs::code::scan(interp, &code.text, "sh", stdin)
            }
        });
        self.code_taint = outer;
        value
    }

    /// Calls a function that the command defined.
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: Vec<Value>,
        stdin: &Value,
    ) -> Option<Value> {
        let body = self.functions.get(name).cloned()?;
        if self.calling.len() >= 16 || self.calling.iter().any(|calling| calling == name) {
            return Some(Value::unknown("", stdin.taint));
        }
        self.calling.push(name.to_owned());
        let outer = std::mem::replace(&mut self.arguments, arguments);
        let value = self.nested(|interp| interp.command(&body, stdin));
        self.arguments = outer;
        self.calling.pop();
        Some(value)
    }
}
