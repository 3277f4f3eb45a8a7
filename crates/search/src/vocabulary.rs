//! The words of all tools, with the places where they occur. Knows nothing of queries; words that
//! no tool uses any more are dropped, so that an upstream that keeps changing does not fill memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::document::PerField;
use crate::stem::stem;
use crate::typo::Signature;

/// Identifies a document by its place in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DocumentId(pub(crate) u32);

/// Identifies a word by its place in the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WordId(u32);

impl DocumentId {
    pub(crate) fn place(self) -> usize {
        self.0 as usize
    }
}

impl WordId {
    fn place(self) -> usize {
        self.0 as usize
    }
}

/// A document that has a word, and how often each of its fields has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting {
    pub(crate) document: DocumentId,
    pub(crate) counts: PerField<u8>,
}

/// A word and the documents that have it.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    pub(crate) text: Arc<str>,
    /// INVARIANT: in order of the document, each document once.
    pub(crate) postings: Vec<Posting>,
}

/// All words of the index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vocabulary {
    words: Vec<Word>,
    /// One for each of `words`, side by side because a misspelt word is compared with all of them.
    signatures: Vec<Signature>,
    free: Vec<WordId>,
    by_text: BTreeMap<Arc<str>, WordId>,
    by_stem: BTreeMap<Box<str>, Vec<WordId>>,
}

/// Postings fewer than these are kept without spare room: most words occur in one or two tools.
const TIGHT: usize = 8;

impl Vocabulary {
    /// Returns how many words are in use.
    pub(crate) fn len(&self) -> usize {
        self.by_text.len()
    }

    pub(crate) fn word(&self, id: WordId) -> Option<&Word> {
        self.words.get(id.place())
    }

    pub(crate) fn find(&self, text: &str) -> Option<WordId> {
        self.by_text.get(text).copied()
    }

    /// Returns the words that share a stem.
    pub(crate) fn forms(&self, stem: &str) -> &[WordId] {
        self.by_stem.get(stem).map_or(&[], Vec::as_slice)
    }

    /// Returns the words that begin with `prefix`, in order of the alphabet.
    pub(crate) fn starting_with<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let texts = self
            .by_text
            .range::<str, _>(from)
            .map(|(text, _)| text.as_ref());
        texts.take_while(move |text| text.starts_with(prefix))
    }

    /// Returns the words that may be at most `slips` away from `text`.
    pub(crate) fn near<'a>(&'a self, text: &str, slips: usize) -> impl Iterator<Item = &'a str> {
        let signature = Signature::of(text);
        let words = self.signatures.iter().zip(&self.words);
        words
            .filter(move |(other, _)| signature.is_near(**other, slips))
            .map(|(_, word)| word.text.as_ref())
    }

    /// Returns the word with this text, which is new if need be.
    pub(crate) fn intern(&mut self, text: &str) -> Option<WordId> {
        if let Some(id) = self.find(text) {
            return Some(id);
        }
        let word = Word {
            text: text.into(),
            postings: Vec::new(),
        };
        let id = match self.free.pop() {
            Some(id) => id,
            None => WordId(u32::try_from(self.words.len()).ok()?),
        };
        self.by_text.insert(Arc::clone(&word.text), id);
        let forms = self.by_stem.entry(stem(text).into()).or_default();
        forms.reserve_exact(1);
        forms.push(id);
        place(&mut self.signatures, id.place(), Signature::of(text));
        place(&mut self.words, id.place(), word);
        Some(id)
    }

    pub(crate) fn post(&mut self, id: WordId, posting: Posting) {
        let Some(word) = self.words.get_mut(id.place()) else {
            return;
        };
        if word.postings.len() < TIGHT {
            word.postings.reserve_exact(1);
        }
        word.postings.push(posting);
    }

    /// Restores the order of postings after documents took the places of earlier ones.
    pub(crate) fn sort(&mut self, id: WordId) {
        if let Some(word) = self.words.get_mut(id.place()) {
            word.postings.sort_by_key(|posting| posting.document);
        }
    }

    /// Takes the documents that `is_gone` names from a word, and the word itself if it was theirs
    /// alone.
    pub(crate) fn retain(&mut self, id: WordId, mut is_gone: impl FnMut(DocumentId) -> bool) {
        let Some(word) = self.words.get_mut(id.place()) else {
            return;
        };
        word.postings.retain(|posting| !is_gone(posting.document));
        if word.postings.len() < TIGHT {
            word.postings.shrink_to_fit();
        }
        if word.postings.is_empty() {
            self.forget(id);
        }
    }

    fn forget(&mut self, id: WordId) {
        let Some(word) = self.words.get_mut(id.place()) else {
            return;
        };
        let text = std::mem::replace(&mut word.text, Arc::from(""));
        self.by_text.remove(&text);
        let stem = stem(&text);
        if let Some(forms) = self.by_stem.get_mut(stem.as_str()) {
            forms.retain(|form| *form != id);
            if forms.is_empty() {
                self.by_stem.remove(stem.as_str());
            }
        }
        place(&mut self.signatures, id.place(), Signature::default());
        self.free.push(id);
    }
}

/// Puts a value in its place, which is at most one past the end.
fn place<T>(list: &mut Vec<T>, at: usize, value: T) {
    match list.get_mut(at) {
        Some(old) => *old = value,
        None => list.push(value),
    }
}
