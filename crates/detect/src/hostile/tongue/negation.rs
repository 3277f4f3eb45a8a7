//! What a no does to the words around it. Languages put it before or behind what they deny, or make
//! it one word with it; patterns know no order, so it is settled before they are asked.

use crate::hostile::ideas::Ideas;
use crate::hostile::lexicon::Lexicon;
use crate::hostile::token::Token;

/// How far a word that says no stands from the word for forgetting that it undoes.
const ADJACENT: usize = 2;

/// What can be done, and therefore forbidden, with one word.
const DEEDS: &[&str] = &[
    "ignore", "obey", "read", "give", "send", "delete", "show", "run", "approve",
];

/// What is not to be told, known, asked or used, if a no stands in the same clause.
const DENIED: &[(&str, &str)] = &[
    ("tell", "untold"),
    ("telling", "untelling"),
    ("know", "unknown"),
    ("ask", "unasked"),
    ("use", "unused"),
];

/// How far that no may stand, in words.
const REACH: usize = 8;

/// What is said with several words that may begin with a no: `do not heed`, `no longer in force`.
const WHOLE: &[&str] = &["ignore", "ignoring", "unbound", "void", "worse"];

/// The ideas that take part in saying no.
#[derive(Debug)]
pub(super) struct Negation {
    /// A no, and one that stands behind what it undoes.
    no: Ideas,
    after: Ideas,
    /// A no of any kind, half ones too.
    any: Ideas,
    forget: Ideas,
    deeds: Ideas,
    whole: Ideas,
    /// What means something else beside a no, and what it means then.
    denied: Vec<(Ideas, Ideas)>,
}

impl Negation {
    /// Looks the ideas up.
    pub(super) fn new(lexicon: &Lexicon) -> Self {
        let idea = |name: &str| lexicon.idea(name).unwrap_or_default();
        let all = |names: &[&str]| names.iter().fold(Ideas::NONE, |all, name| all | idea(name));
        let denied = DENIED.iter();
        Self {
            no: all(&["not", "after"]),
            after: idea("after"),
            any: all(&["not", "after", "half"]),
            forget: idea("forget"),
            deeds: all(DEEDS),
            whole: all(WHOLE),
            denied: denied
                .map(|(name, denied)| (idea(name), idea(denied)))
                .collect(),
        }
    }

    /// Settles what the words of a sentence mean beside its noes.
    pub(super) fn apply(&self, tokens: &mut [Token]) {
        self.settle(tokens);
        self.remind(tokens);
        self.deny(tokens);
        self.forbid(tokens);
    }

    /// Takes words of which the first says no for what they mean together.
    fn settle(&self, tokens: &mut [Token]) {
        for token in tokens.iter_mut() {
            if token.ideas & self.whole != Ideas::NONE {
                token.ideas = token.ideas & !self.any;
            }
        }
    }

    /// Takes both words of `do not forget` for what they mean together: nothing that counts here.
    fn remind(&self, tokens: &mut [Token]) {
        for at in places(tokens, self.forget) {
            let near = at.saturating_sub(ADJACENT)..(at + ADJACENT + 1).min(tokens.len());
            let near = tokens.get_mut(near).unwrap_or_default();
            if places(near, self.any).is_empty() {
                continue;
            }
            for token in near {
                if token.ideas & (self.any | self.forget) != Ideas::NONE {
                    token.ideas = Ideas::NONE;
                }
            }
        }
    }

    /// Adds what words mean beside a no.
    fn deny(&self, tokens: &mut [Token]) {
        let no = |token: &Token| (token.ideas & self.no != Ideas::NONE).then_some(token.clause);
        let clauses: Vec<Option<u32>> = tokens.iter().map(no).collect();
        for (at, token) in tokens.iter_mut().enumerate() {
            let near = at.saturating_sub(REACH)..(at + REACH + 1).min(clauses.len());
            let near = clauses.get(near).unwrap_or_default();
            if !near.contains(&Some(token.clause)) {
                continue;
            }
            for &(plain, denied) in &self.denied {
                if token.ideas & plain != Ideas::NONE {
                    token.ideas |= denied;
                }
            }
        }
    }

    /// Takes what the next word forbids for undone.
    fn forbid(&self, tokens: &mut [Token]) {
        for at in places(tokens, self.after) {
            let before = at.checked_sub(1).and_then(|before| tokens.get_mut(before));
            if let Some(token) = before {
                token.ideas = token.ideas & !self.deeds;
            }
        }
    }
}

/// Where words of these ideas stand.
fn places(tokens: &[Token], ideas: Ideas) -> Vec<usize> {
    let meant = |token: &Token| token.ideas & ideas != Ideas::NONE;
    let tokens = tokens.iter().enumerate();
    tokens
        .filter(|(_, token)| meant(token))
        .map(|(at, _)| at)
        .collect()
}
