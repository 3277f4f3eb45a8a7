//! What a search answers: hits with the reasons for them. Computed in `rank`.

use crate::document::Field;

/// The outcome of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<'a> {
    /// The best tools, best first.
    pub hits: Vec<Hit<'a>>,
    /// How many tools have anything to do with the query.
    pub total: usize,
    /// What of the query was not looked at.
    pub ignored: Ignored,
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit<'a> {
    /// Upstream that has the tool.
    pub upstream: &'a str,
    /// Name of the tool at its upstream.
    pub name: &'a str,
    /// How well it fits: up to 1 by its words, one more if the query mentions its name, and one
    /// more if the query is its name.
    pub score: f64,
    /// Whether the query calls the tool by its name.
    pub mention: Option<Mention>,
    /// Why it was found, in order of the query; terms that do not fit are absent.
    pub matched: Vec<Match<'a>>,
}

/// How a query calls a tool by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mention {
    /// The name stands in the query among other words.
    Part,
    /// The query is the name and nothing else.
    Whole,
}

/// Why a term of the query fits a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Match<'a> {
    /// Term of the query.
    pub term: String,
    /// Word of the tool that fits it.
    pub word: &'a str,
    /// Weightiest field that has the word.
    pub field: Field,
    /// How the word fits the term.
    pub kind: Kind,
    /// Share of the score.
    pub points: f64,
}

/// How a word of a tool fits a term of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It is the same word.
    Exact,
    /// It is another form of the same word: `issues` for `issue`.
    Stem,
    /// The term is written as one word here and as two there: `pullrequest`.
    Compound,
    /// It means the same: `remove` for `delete`.
    Synonym,
    /// One begins with the other: `config` and `configuration`.
    Prefix,
    /// The term is the word misspelt: `isue` for `issue`.
    Typo,
}

/// What of a query was not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ignored {
    /// Characters past [`crate::MAX_QUERY_CHARACTERS`].
    pub characters: usize,
    /// Terms past [`crate::MAX_QUERY_TERMS`].
    pub terms: usize,
}

/// Why one tool ranks where it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation<'a> {
    /// The tool as it would be found; its score is 0 if it would not.
    pub hit: Hit<'a>,
    /// Its place among the tools that were found, counted from 1.
    pub rank: Option<usize>,
    /// How many tools have anything to do with the query.
    pub total: usize,
    /// Terms that do not fit this tool.
    pub missed: Vec<String>,
    /// What of the query was not looked at.
    pub ignored: Ignored,
}
