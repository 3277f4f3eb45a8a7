//! The event of a reading: everything that is remembered of what a call read, fingerprinted
//! before any lock is taken. Folding it into the state is for `state`.

use mcpproxy_core::Id128;

use crate::common;
use crate::content::{Content, parts};
use crate::digest::digests;
use crate::secret::SecretPrint;
use crate::settings::FlowTracking;
use crate::stream::streams;
use crate::typed::{Token, tokens};
use crate::winnow::winnow;

/// Tokens of one content that are remembered.
const TOKENS: usize = 4096;

/// What is remembered of a reading.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// Tags of the windows of text that are not common.
    pub(crate) grams: Vec<u64>,
    pub(crate) digests: Vec<Id128>,
    pub(crate) secrets: Vec<SecretPrint>,
    pub(crate) tokens: Vec<Token>,
}

impl Reading {
    /// Fingerprints what a call read.
    pub(crate) fn of(content: &Content<'_>, settings: &FlowTracking) -> Self {
        let parts = parts(content.json);
        let mut grams = Vec::with_capacity(content.json.len() / 6);
        for stream in streams(&parts, false) {
            winnow(&stream.symbols, |gram| {
                if !common::has(gram.tag) {
                    grams.push(gram.tag);
                }
            });
        }
        let hashes = digests(
            content.json,
            &parts,
            settings.hash_min_length,
            settings.max_response_hash_bytes,
        );
        let mut found = Vec::new();
        tokens(&parts, |token, _, _| {
            if found.len() < TOKENS {
                found.push(token);
            }
        });
        Self {
            grams,
            digests: hashes.into_iter().map(|one| one.hash).collect(),
            secrets: content.marked.iter().filter_map(SecretPrint::of).collect(),
            tokens: found,
        }
    }
}
