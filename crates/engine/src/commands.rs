//! The commands that a tool is given, however its arguments name and nest them.

use std::borrow::Cow;

use mcpproxy_text as text;

/// Where anything is given a command, in small letters and without dashes.
const NAMES: [&str; 14] = [
    "command",
    "cmd",
    "shell",
    "bash",
    "script",
    "code",
    "commandline",
    "shellcommand",
    "bashcommand",
    "argv",
    "cmdstring",
    "commandstring",
    "pythoncode",
    "cellsource",
];
/// Where shells are given it besides; those of a running one are given it as input.
const TYPED: [&str; 11] = [
    "input", "chars", "stdin", "text", "keys", "line", "data", "content", "payload", "value",
    "string",
];
/// Where the words stand that come after a program.
const WORDS: [&str; 3] = ["args", "arguments", "parameters"];
/// Where the program itself may stand, beside those words.
const PROGRAMS: [&str; 5] = ["program", "executable", "binary", "exe", "file"];
/// Where it stands besides in what a tool runs.
const NAME: &str = "name";
/// How deep arguments are looked through.
const DEPTH: usize = 6;
/// How many commands are read.
const MOST: usize = 256;

/// A command.
pub(crate) struct Given<'a> {
    pub(crate) text: Cow<'a, str>,
    /// The name it is given under; none where it is all that is given.
    pub(crate) under: String,
}

/// Commands, and whether those are all.
pub(crate) struct Commands<'a> {
    pub(crate) all: Vec<Given<'a>>,
    pub(crate) cut: bool,
    to: To,
}

/// Who is given commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// Any tool.
    Any,
    /// What runs something, which may be given it by name.
    Runner,
    /// A shell, which may be given nothing but the command, and under more names.
    Shell,
}

/// Returns the commands in the arguments: each a text, or a list of words.
pub(crate) fn commands(arguments: &str, to: To) -> Commands<'_> {
    let mut found = Commands {
        all: Vec::new(),
        cut: false,
        to,
    };
    if arguments.starts_with('{') {
        found.object(arguments, 0);
    } else {
        found.given(arguments, "", false, 0);
    }
    found
}

impl<'a> Commands<'a> {
    fn object(&mut self, raw: &'a str, depth: usize) {
        let value = |span| raw.get(span).unwrap_or_default();
        let mut program = None;
        let mut words = None;
        for member in text::members(raw) {
            let name = plain(&member.key);
            let value = value(member.value);
            let plural = name.strip_suffix('s').is_some_and(|one| self.names(one));
            if self.names(&name) || plural {
                program = program.or_else(|| text::string(value));
                self.given(value, &member.key, plural, depth);
            } else if PROGRAMS.contains(&name.as_str()) || (self.to != To::Any && name == NAME) {
                program = program.or_else(|| text::string(value));
            } else if WORDS.contains(&name.as_str()) && value.starts_with('[') {
                words = Some(value);
                self.within(value, depth);
            } else {
                self.within(value, depth);
            }
        }
        if let Some((program, words)) = program.zip(words) {
            let words = text::elements(words).filter_map(|span| text::string(words.get(span)?));
            self.add(quoted([program].into_iter().chain(words)), "args");
        }
    }

    fn names(&self, name: &str) -> bool {
        NAMES.contains(&name) || (self.to == To::Shell && TYPED.contains(&name))
    }

    /// Takes what stands where a command does.
    fn given(&mut self, raw: &'a str, under: &str, several: bool, depth: usize) {
        if let Some(command) = text::string(raw) {
            self.add(command, under);
            return;
        }
        let words = || text::elements(raw).filter_map(|span| text::string(raw.get(span)?));
        if words().next().is_some() {
            self.add(quoted(words()), under);
        }
        // A list of one is a command as well as a word.
        if several || words().count() == 1 {
            words().for_each(|command| self.add(command, under));
        }
        self.within(raw, depth);
    }

    /// Looks into an object, or into those of a list.
    fn within(&mut self, raw: &'a str, depth: usize) {
        if !raw.starts_with(['{', '[']) {
            return;
        }
        if depth >= DEPTH {
            self.cut = true;
            return;
        }
        if raw.starts_with('{') {
            self.object(raw, depth + 1);
        }
        for span in text::elements(raw) {
            self.within(raw.get(span).unwrap_or_default(), depth + 1);
        }
    }

    fn add(&mut self, text: Cow<'a, str>, under: &str) {
        if self.all.len() < MOST {
            let under = under.to_owned();
            self.all.push(Given { text, under });
        } else {
            self.cut = true;
        }
    }
}

/// A command that comes as a list: all words quoted, so that a shell among them is read as one.
fn quoted<'a>(words: impl Iterator<Item = Cow<'a, str>>) -> Cow<'static, str> {
    let quoted = words.map(|word| as_word(&word));
    Cow::Owned(quoted.collect::<Vec<_>>().join(" "))
}

/// A text as one word of a command.
pub(crate) fn as_word(text: &str) -> String {
    ["'", &text.replace('\'', r"'\''"), "'"].concat()
}

/// A name in one spelling.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<'a>(found: &'a Commands<'_>) -> Vec<&'a str> {
        found.all.iter().map(|one| &*one.text).collect()
    }

    #[test]
    fn a_command_is_found_under_any_name_it_is_given_by() {
        let check = |arguments: &str, expect: &[&str]| {
            let found = commands(arguments, To::Any);
            assert_eq!(texts(&found), expect, "{arguments}");
            assert!(!found.cut, "{arguments}");
        };
        check(r#"{"command":"ls"}"#, &["ls"]);
        check(r#"{"CommandLine":"ls"}"#, &["ls"]);
        check(r#"{"command_line":"ls"}"#, &["ls"]);
        check(r#"{"argv":["sh","-c","ls"]}"#, &["'sh' '-c' 'ls'"]);
        check(r#"{"commands":["ls","pwd"]}"#, &["'ls' 'pwd'", "ls", "pwd"]);
        check(r#"{"commands":[{"cmd":"ls"}]}"#, &["ls"]);
        check(r#"{"task":{"command":"ls"}}"#, &["ls"]);
        check(r#"{"steps":[{"action":{"command":"ls"}}]}"#, &["ls"]);
        check(
            r#"{"command":"sh","args":["-c","ls"]}"#,
            &["sh", "'sh' '-c' 'ls'"],
        );
        check(
            r#"{"program":"sh","args":["-c","it's"]}"#,
            &[r"'sh' '-c' 'it'\''s'"],
        );
        check(r#""ls""#, &["ls"]);
        check(r#"["ls","-l"]"#, &["'ls' '-l'"]);
        check(r#"["ls -l"]"#, &["'ls -l'", "ls -l"]);
        check(r#"{"text":"ls","input":"ls"}"#, &[]);
        check(r#"{"path":"/a","n":1}"#, &[]);
        check("{}", &[]);
        assert_eq!(texts(&commands(r#"{"text":"ls"}"#, To::Shell)), ["ls"]);
        check(r#"{"name":"curl","args":["-V"]}"#, &[]);
        let spawned = r#"{"name":"curl","args":["-V"]}"#;
        assert_eq!(texts(&commands(spawned, To::Runner)), ["'curl' '-V'"]);
    }

    #[test]
    fn what_is_past_the_bounds_is_said_to_be() {
        let deep = [&r#"{"a":"#.repeat(9), r#"{"command":"ls"}"#, &"}".repeat(9)].concat();
        assert!(commands(&deep, To::Any).cut);
        let many = format!(r#"{{"commands":[{}"ls"]}}"#, r#""ls","#.repeat(300));
        assert!(commands(&many, To::Any).cut);
    }
}
