//! The index: which tools there are, and replacing those of one upstream at a time. Ranking them is
//! in `rank`; concurrency is the caller's, who may clone an index or put it behind a lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::content::Content;
use crate::document::{Document, Field, PerField};
use crate::names::Names;
use crate::vocabulary::{DocumentId, Posting, Vocabulary, WordId};

/// Distinct words that one upstream may bring into the index, and that all may together. Ordinary
/// upstreams use some hundreds; the bounds keep those that send noise from filling memory. Words of
/// names are indexed in any case.
const MAX_UPSTREAM_WORDS: usize = 10_000;
const MAX_WORDS: usize = 100_000;

/// Tools of all upstreams, ready to be searched.
#[derive(Debug, Clone, Default)]
pub struct Index {
    pub(crate) vocabulary: Vocabulary,
    /// Places of removed tools are empty until they are taken again.
    pub(crate) documents: Vec<Option<Stored>>,
    free: Vec<DocumentId>,
    upstreams: BTreeMap<Arc<str>, Holding>,
    pub(crate) names: Names,
    /// Words of all documents, by field.
    lengths: PerField<u64>,
}

/// What is kept of a tool besides its words.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) upstream: Arc<str>,
    pub(crate) name: Box<str>,
    /// Words by field.
    pub(crate) lengths: PerField<u8>,
}

/// What the index holds for one upstream.
#[derive(Debug, Clone, Default)]
struct Holding {
    documents: Vec<DocumentId>,
    words: BTreeSet<WordId>,
}

impl Holding {
    fn has_room_for(&self, word: WordId) -> bool {
        self.words.len() < MAX_UPSTREAM_WORDS || self.words.contains(&word)
    }
}

/// What became of the tools of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Replaced {
    /// Tools that are now in the index.
    pub tools: usize,
    /// Tools of which the last words were left out, because a field or the upstream has too many.
    pub cut: usize,
    /// Tools left out because an earlier one has the same name.
    pub duplicates: usize,
}

impl Index {
    /// Replaces all tools of an upstream.
    pub fn replace<'a>(
        &mut self,
        upstream: &str,
        documents: impl IntoIterator<Item = Document<'a>>,
    ) -> Replaced {
        self.remove(upstream);
        let upstream: Arc<str> = upstream.into();
        let reuses_places = !self.free.is_empty();
        let mut holding = Holding::default();
        let mut replaced = Replaced::default();
        let mut seen = BTreeSet::new();
        for document in documents {
            if !seen.insert(document.name) {
                replaced.duplicates += 1;
                continue;
            }
            let Some(is_cut) = self.add(&upstream, &document, &mut holding) else {
                break;
            };
            replaced.tools += 1;
            replaced.cut += usize::from(is_cut);
        }
        if reuses_places {
            holding
                .words
                .iter()
                .for_each(|word| self.vocabulary.sort(*word));
        }
        if replaced.tools > 0 {
            self.upstreams.insert(upstream, holding);
        }
        replaced
    }

    /// Removes all tools of an upstream and returns how many there were.
    pub fn remove(&mut self, upstream: &str) -> usize {
        let Some(holding) = self.upstreams.remove(upstream) else {
            return 0;
        };
        for id in &holding.documents {
            let stored = self.documents.get_mut(id.place()).and_then(Option::take);
            if let Some(stored) = stored {
                self.forget(*id, &stored);
            }
        }
        let (vocabulary, documents) = (&mut self.vocabulary, &self.documents);
        for word in holding.words {
            vocabulary.retain(word, |id| {
                documents.get(id.place()).is_none_or(Option::is_none)
            });
        }
        // The last place is taken first, so that places are taken in ascending order.
        self.free.extend(holding.documents.iter().rev());
        holding.documents.len()
    }

    /// Returns how many tools there are.
    pub fn len(&self) -> usize {
        self.documents.len() - self.free.len()
    }

    /// Says whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn stored(&self, id: DocumentId) -> Option<&Stored> {
        self.documents.get(id.place()).and_then(Option::as_ref)
    }

    pub(crate) fn locate(&self, upstream: &str, name: &str) -> Option<DocumentId> {
        let documents = &self.upstreams.get(upstream)?.documents;
        let is_it = |id: &&DocumentId| self.stored(**id).is_some_and(|it| &*it.name == name);
        documents.iter().find(is_it).copied()
    }

    /// Returns how many words a field has in all documents together.
    pub(crate) fn words_in(&self, field: Field) -> u64 {
        self.lengths
            .get(field as usize)
            .copied()
            .unwrap_or_default()
    }

    /// Adds one tool and says whether words of it were left out; nothing if the index is full.
    fn add(
        &mut self,
        upstream: &Arc<str>,
        document: &Document<'_>,
        holding: &mut Holding,
    ) -> Option<bool> {
        let id = match self.free.pop() {
            Some(id) => id,
            None => DocumentId(u32::try_from(self.documents.len()).ok()?),
        };
        let mut content = Content::of(upstream, document);
        content.is_cut |= self.post(id, &content, holding);
        for (total, length) in self.lengths.iter_mut().zip(content.lengths) {
            *total += u64::from(length);
        }
        self.names.insert(upstream, document.name, id);
        let (upstream, name) = (Arc::clone(upstream), document.name.into());
        let stored = Some(Stored {
            upstream,
            name,
            lengths: content.lengths,
        });
        match self.documents.get_mut(id.place()) {
            Some(place) => *place = stored,
            None => self.documents.push(stored),
        }
        holding.documents.push(id);
        Some(content.is_cut)
    }

    /// Enters the words of a document and says whether some were left out.
    fn post(&mut self, document: DocumentId, content: &Content, holding: &mut Holding) -> bool {
        let mut is_cut = false;
        for (text, counts) in &content.words {
            let [in_name, ..] = *counts;
            let known = self.vocabulary.find(text);
            let word = match known {
                Some(word) if in_name > 0 || holding.has_room_for(word) => Some(word),
                None if in_name > 0 || self.has_room(holding) => self.vocabulary.intern(text),
                _ => None,
            };
            is_cut |= word.is_none();
            if let Some(word) = word {
                self.vocabulary.post(
                    word,
                    Posting {
                        document,
                        counts: *counts,
                    },
                );
                holding.words.insert(word);
            }
        }
        is_cut
    }

    /// Says whether a word may be added that no tool has yet.
    fn has_room(&self, holding: &Holding) -> bool {
        self.vocabulary.len() < MAX_WORDS && holding.words.len() < MAX_UPSTREAM_WORDS
    }

    /// Takes a removed document out of the totals and the names.
    fn forget(&mut self, id: DocumentId, stored: &Stored) {
        for (total, length) in self.lengths.iter_mut().zip(stored.lengths) {
            *total = total.saturating_sub(u64::from(length));
        }
        self.names.remove(&stored.upstream, &stored.name, id);
    }
}

#[cfg(test)]
mod tests;
