//! Ranked search over tool descriptions.
//!
//! A query and the texts of a tool are split into words (`split`). Each word of the query becomes
//! a term that may stand for other words of the index: other forms of it, synonyms, corrections and
//! completions (`expand`). Terms are weighed by BM25F over the fields of a tool (`rank`), and a
//! tool that the query calls by its name comes first.
//!
//! Nothing here knows about policy, quarantine or health: the caller says which tools may be shown
//! ([`Index::search_where`]). Nothing is learnt from use, so that an upstream or an agent cannot
//! move the ranking by calling tools, and equal input gives equal output.

mod content;
mod document;
mod expand;
mod found;
mod index;
mod names;
mod query;
mod rank;
mod split;
mod stem;
mod synonyms;
mod typo;
mod vocabulary;

pub use document::{Document, Field};
pub use found::{Explanation, Found, Hit, Ignored, Kind, Match, Mention};
pub use index::{Index, Replaced};
pub use query::{MAX_QUERY_CHARACTERS, MAX_QUERY_TERMS};
