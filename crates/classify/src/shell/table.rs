//! The table of programs: read once from `rules/programs.txt`, looked up by name and verbs.
//!
//! Programs whose arguments need more than roles have code of their own in `programs`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::facts::Transfer;
use super::value::Value;

const TEXT: &str = include_str!("../../rules/programs.txt");

static TABLE: LazyLock<HashMap<&'static str, Spec>> = LazyLock::new(|| {
    let mut table = HashMap::new();
    for line in TEXT.lines() {
        if let Some((names, spec)) = parse_line(line) {
            for name in names.split_whitespace() {
                table.entry(name).or_insert_with(|| spec.clone());
            }
        }
    }
    table
});

/// The programs that the table splits by verbs.
static SPLIT: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let names = TABLE.keys();
    names
        .filter_map(|name| Some(name.split_once('+')?.0))
        .collect()
});

static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let names = TABLE.keys().copied();
    let mut names: Vec<_> = names.filter(|name| !name.contains('+')).collect();
    names.sort_unstable();
    names
});

/// Most verbs that lead to a row.
const VERBS: usize = 3;

/// What the value of an option or an operand is to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Ignored,
    Read,
    Written,
    Removed,
    Host,
    Url,
    Remote,
    Data,
    Login,
    AtData,
    Form,
    Shell,
    Code,
    Pattern,
    PatternOption,
}

/// What a program prints, or that it copies from one place to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Output {
    /// Nothing of what it reads.
    #[default]
    Quiet,
    /// What it reads.
    Pass,
    /// Something about the machine or its secrets.
    Info,
    /// Nothing; the operands say which way the data goes.
    Copy,
}

/// What a program does with what it gets.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of the table, and any may stand beside any other"
)]
pub(super) struct Spec {
    pub(super) output: Output,
    pub(super) stdin: bool,
    pub(super) local: bool,
    /// What it is given is orders of its own, which name files.
    pub(super) orders: bool,
    /// It passes on whatever it is given: nothing of that is a login.
    pub(super) plain: bool,
    /// Places are names of its configuration, not hosts.
    pub(super) named: bool,
    long: bool,
    pub(super) transfer: Option<Transfer>,
    pub(super) host: Option<&'static str>,
    options: Vec<(&'static str, Role)>,
    before: Vec<Role>,
    star: Option<Role>,
    after: Vec<Role>,
}

/// Arguments told apart: what each value is to the program, and the bare options.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) values: Vec<(Role, Value)>,
    pub(super) flags: Vec<String>,
}

/// Finds the program that a name and its arguments stand for.
pub(super) fn find(name: &str, args: &[Value]) -> Option<&'static Spec> {
    let split = by_verbs(name, args).map(|(spec, _)| spec);
    split.or_else(|| TABLE.get(name))
}

/// Counts the words that are verbs and led to a line of the table.
pub(super) fn verbs(name: &str, args: &[Value]) -> usize {
    by_verbs(name, args).map_or(0, |(_, words)| words)
}

/// Gives every program name of the table, in order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied()
}

fn by_verbs(name: &str, args: &[Value]) -> Option<(&'static Spec, usize)> {
    // Any word may be asked about, and hardly any is a program with verbs.
    if !SPLIT.contains(name) {
        return None;
    }
    let mut key = name.to_owned();
    let mut found = None;
    for (verb, words) in first_verbs(TABLE.get(name), args) {
        key.push('+');
        key.push_str(verb);
        let here = TABLE.get(key.as_str()).map(|spec| (spec, words));
        found = here.or(found);
    }
    found
}

/// Returns the first verbs, each with the words up to it that are no options.
fn first_verbs<'v>(base: Option<&Spec>, args: &'v [Value]) -> Vec<(&'v str, usize)> {
    let mut verbs = Vec::new();
    let (mut words, mut skip) = (0, false);
    for arg in args {
        let text = arg.text.as_str();
        if std::mem::take(&mut skip) {
            continue;
        }
        if text.starts_with('-') {
            let takes_value = base.is_some_and(|base| base.role(text).is_some());
            skip = !text.contains('=') && takes_value;
            continue;
        }
        words += 1;
        // Some write `config:set` for what others write `config set`.
        let here = text.split(':').filter(|verb| !verb.is_empty());
        verbs.extend(here.map(|verb| (verb, words)));
        if verbs.len() >= VERBS {
            break;
        }
    }
    verbs.truncate(VERBS);
    verbs
}

impl Spec {
    fn role(&self, option: &str) -> Option<Role> {
        self.options
            .iter()
            .find(|(name, _)| *name == option)
            .map(|(_, role)| *role)
    }

    /// Tells arguments apart; `verbs` operands are passed over.
    pub(super) fn arguments(&self, args: &[Value], verbs: usize) -> Arguments {
        let mut out = Arguments::default();
        let mut operands = Vec::new();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            if arg.text == "--" {
                operands.extend(rest.by_ref().cloned());
            } else if arg.text.starts_with('-') && arg.text.len() > 1 {
                self.option(arg, &mut rest, &mut out);
            } else {
                operands.push(arg.clone());
            }
        }
        let has_pattern = out
            .values
            .iter()
            .any(|(role, _)| *role == Role::PatternOption);
        self.operands(
            operands.into_iter().skip(verbs).collect(),
            has_pattern,
            &mut out,
        );
        out
    }

    fn option<'v>(
        &self,
        arg: &Value,
        rest: &mut impl Iterator<Item = &'v Value>,
        out: &mut Arguments,
    ) {
        if let Some(role) = self.role(&arg.text) {
            if let Some(value) = rest.next() {
                out.values.push((role, value.clone()));
            }
            out.flags.push(arg.text.clone());
            return;
        }
        if let Some((name, value)) = arg.text.split_once('=')
            && (name.starts_with("--") || self.role(name).is_some())
        {
            let role = self.role(name).unwrap_or(Role::Ignored);
            out.values.push((role, arg.derive(value)));
            out.flags.push(name.to_owned());
            return;
        }
        if arg.text.starts_with("--") || self.long {
            out.flags.push(arg.text.clone());
            return;
        }
        self.bundle(arg, rest, out);
    }

    /// Reads `-xvf value` and `-fvalue`.
    fn bundle<'v>(
        &self,
        arg: &Value,
        rest: &mut impl Iterator<Item = &'v Value>,
        out: &mut Arguments,
    ) {
        let letters = arg.text.char_indices().skip(1);
        for (at, letter) in letters {
            let flag = format!("-{letter}");
            let role = self.role(&flag);
            out.flags.push(flag);
            let Some(role) = role else {
                continue;
            };
            let attached = arg.text.get(at + letter.len_utf8()..).unwrap_or_default();
            if !attached.is_empty() {
                out.values.push((role, arg.derive(attached)));
            } else if let Some(value) = rest.next() {
                out.values.push((role, value.clone()));
            }
            return;
        }
    }

    fn operands(&self, operands: Vec<Value>, has_pattern: bool, out: &mut Arguments) {
        let before: Vec<Role> = self
            .before
            .iter()
            .copied()
            .filter(|role| !(has_pattern && *role == Role::Pattern))
            .collect();
        let count = operands.len();
        // `cp -t folder file`: an option has said where to.
        let told = self.after == [Role::Written]
            && out.values.iter().any(|(role, _)| *role == Role::Written);
        let tail = if told {
            0
        } else {
            count.saturating_sub(before.len()).min(self.after.len())
        };
        for (index, value) in operands.into_iter().enumerate() {
            let role = match before.get(index) {
                Some(role) => Some(*role),
                None if index + tail >= count => {
                    self.after.get(self.after.len() + index - count).copied()
                }
                None => self.star,
            };
            out.values.push((role.unwrap_or(Role::Ignored), value));
        }
    }
}

fn parse_line(line: &'static str) -> Option<(&'static str, Spec)> {
    if line.starts_with('#') {
        return None;
    }
    let mut columns = line.split('|').map(str::trim);
    let (names, effects) = (columns.next()?, columns.next()?);
    let (options, operands) = (columns.next()?, columns.next()?);
    let mut spec = Spec::default();
    for effect in effects.split_whitespace() {
        spec.effect(effect);
    }
    for option in options.split_whitespace() {
        let (name, role) = option.rsplit_once(':')?;
        spec.options.push((name, role_of(role)?));
    }
    for operand in operands.split_whitespace() {
        let role = role_of(operand.trim_end_matches(['*', '?']))?;
        if operand.ends_with('*') {
            spec.star = Some(role);
        } else if spec.star.is_some() {
            spec.after.push(role);
        } else {
            spec.before.push(role);
        }
    }
    Some((names, spec))
}

impl Spec {
    fn effect(&mut self, effect: &'static str) {
        match effect {
            "pass" => self.output = Output::Pass,
            "info" => self.output = Output::Info,
            "stdin" => self.stdin = true,
            "local" => self.local = true,
            "orders" => self.orders = true,
            "named" => self.named = true,
            "plain" => self.plain = true,
            "long" => self.long = true,
            "copy" => {
                self.output = Output::Copy;
                self.transfer = Some(Transfer::Upload);
            }
            "fetch" => self.transfer = Some(Transfer::Fetch),
            "upload" => self.transfer = Some(Transfer::Upload),
            "session" => self.transfer = Some(Transfer::Session),
            "lookup" => self.transfer = Some(Transfer::Lookup),
            "listen" => self.transfer = Some(Transfer::Listen),
            _ => self.host = effect.strip_prefix("host=").or(self.host),
        }
    }
}

fn role_of(text: &str) -> Option<Role> {
    Some(match text {
        "_" => Role::Ignored,
        "r" => Role::Read,
        "w" => Role::Written,
        "k" => Role::Removed,
        "h" => Role::Host,
        "u" => Role::Url,
        "x" => Role::Remote,
        "d" => Role::Data,
        "l" => Role::Login,
        "@" => Role::AtData,
        "f" => Role::Form,
        "s" => Role::Shell,
        "c" => Role::Code,
        "p" => Role::Pattern,
        "P" => Role::PatternOption,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        for line in TEXT
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let (_, spec) = parse_line(line).unwrap_or_else(|| panic!("not read: {line}"));
            let effects = line.split('|').nth(1).unwrap_or_default();
            for effect in effects.split_whitespace() {
                let known = [
                    "pass", "quiet", "info", "stdin", "local", "long", "copy", "fetch", "upload",
                    "session", "lookup", "listen", "shell", "orders", "named", "plain",
                ];
                assert!(
                    known.contains(&effect) || spec.host.is_some(),
                    "{effect}: {line}"
                );
            }
        }
    }
}
