//! What a command line is made of, for every dialect: scripts, pipelines, commands, words.
//!
//! The tree owns its text, so that a function or a trap can be kept past the string it was read
//! from. Nothing is expanded here.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

/// A list of pipelines, in order.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) items: Vec<Item>,
}

/// One pipeline and how it hangs on the one before.
#[derive(Debug)]
pub(super) struct Item {
    /// Whether it runs only if an earlier one succeeded or failed.
    pub(super) conditional: bool,
    pub(super) commands: Vec<Command>,
}

/// One command with its redirections.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) kind: Kind,
    pub(super) redirects: Vec<Redirect>,
    pub(super) span: Range<usize>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Simple {
        assigns: Vec<Assign>,
        words: Vec<Word>,
    },
    Group(Script),
    Subshell(Script),
    /// Scripts of which any may run: the parts of `if`, the arms of `case`.
    Branches(Vec<Script>),
    /// Condition and body of a loop.
    Loop(Vec<Script>),
    For {
        name: String,
        words: Vec<Word>,
        body: Script,
    },
    Function {
        name: String,
        body: Rc<Command>,
    },
    /// Words that are evaluated but run nothing: `[[ ]]`, `(( ))`.
    Test(Vec<Word>),
}

/// A variable being set.
#[derive(Debug)]
pub(super) struct Assign {
    pub(super) name: String,
    pub(super) append: bool,
    pub(super) value: Assigned,
}

#[derive(Debug)]
pub(super) enum Assigned {
    Word(Word),
    List(Vec<Word>),
}

#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) fd: Option<u32>,
    pub(super) kind: RedirectKind,
}

#[derive(Debug)]
pub(super) enum RedirectKind {
    In(Word),
    Out(Word),
    /// `<>`: both ways.
    Both(Word),
    /// `>&2`, `<&5`: the fd it copies.
    Copy(Word),
    HereString(Word),
    /// Filled in when the parser reaches the line after the operator.
    HereDoc(Rc<OnceCell<Word>>),
}

/// A word before expansion.
#[derive(Clone, Debug, Default)]
pub(super) struct Word {
    pub(super) pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Literal {
        text: String,
        quoted: bool,
    },
    Parameter {
        name: String,
        change: Change,
        quoted: bool,
    },
    /// `$(..)` and backticks.
    Command {
        script: Rc<Script>,
        quoted: bool,
    },
    /// `<(..)` and `>(..)`.
    Process {
        script: Rc<Script>,
        output: bool,
    },
    /// `$((..))`: expanded for what runs inside.
    Arithmetic(Word),
}

/// What an expansion does to the parameter's value.
#[derive(Clone, Debug)]
pub(super) enum Change {
    None,
    /// `:-` and `-`, `:=` and `=`; true when it also assigns.
    Default(Word, bool),
    /// `:+` and `+`.
    Alternative(Word),
    /// `:offset[:length]`, as written.
    Slice(Word),
    /// `#`, `##`, `%`, `%%`: from the end, longest.
    Trim {
        pattern: Word,
        end: bool,
        longest: bool,
    },
    /// `/pattern/with`, all of them for `//`.
    Replace {
        pattern: Word,
        with: Word,
        all: bool,
    },
    /// `^^` and `,,`.
    Case {
        upper: bool,
        all: bool,
    },
    /// `!name`.
    Indirect,
    /// `#name`.
    Length,
    /// Anything else, which leaves the value unknown.
    Other,
}

impl Word {
    /// Makes a word of plain text that is not expanded further.
    pub(super) fn quoted(text: impl Into<String>) -> Self {
        Self {
            pieces: vec![Piece::Literal {
                text: text.into(),
                quoted: true,
            }],
        }
    }

    /// Gives the text if the word is one bare literal.
    pub(super) fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [
                Piece::Literal {
                    text,
                    quoted: false,
                },
            ] => Some(text),
            _ => None,
        }
    }
}
