//! The form of `tokens.json`. Reading is strict: what is not understood is an error, since a
//! guess could open a door.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcpproxy_core::Wall;
use serde::{Deserialize, Serialize};

use super::scope::is_name;
use super::{Entry, MOST_TOKENS, TokenInfo, TokenScope};
use crate::credential::Digest;
use crate::strict;

/// The form that this program writes, and the only one it reads.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    #[serde(deserialize_with = "strict::objects")]
    tokens: Vec<Token>,
}

/// A token as it is written down.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Token {
    name: String,
    pub(super) sha256: String,
    created: u64,
    #[serde(deserialize_with = "strict::object")]
    scope: TokenScope,
}

/// Writes the tokens down.
pub(super) fn print(entries: &[Entry]) -> Result<Vec<u8>, String> {
    let file = File {
        version: VERSION,
        tokens: entries.iter().map(token).collect(),
    };
    let mut text = serde_json::to_vec_pretty(&file).map_err(|error| error.to_string())?;
    text.push(b'\n');
    Ok(text)
}

/// Returns what is written down of a token.
pub(super) fn token(entry: &Entry) -> Token {
    Token {
        name: entry.info.name.clone(),
        sha256: entry.digest.to_hex(),
        created: entry.info.created.0,
        scope: entry.info.scope.clone(),
    }
}

/// Reads tokens, or tells what is wrong with them.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let file: File = strict::parse(bytes)?;
    if file.version != VERSION {
        return Err(format!(
            "it has version {}, and only {VERSION} is known",
            file.version
        ));
    }
    if file.tokens.len() > MOST_TOKENS {
        return Err(format!("it has more than {MOST_TOKENS} tokens"));
    }
    let mut names = BTreeSet::new();
    let mut entries = Vec::with_capacity(file.tokens.len());
    for (number, token) in (1..).zip(file.tokens) {
        let entry = entry(token).map_err(|reason| format!("token {number}: {reason}"))?;
        if !names.insert(entry.info.name.clone()) {
            return Err(format!(
                "token {number}: the name `{}` is taken",
                entry.info.name
            ));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Reads a token, or tells what is wrong with it.
pub(super) fn entry(token: Token) -> Result<Entry, String> {
    if !is_name(&token.name) {
        return Err("its name is not a valid one".to_owned());
    }
    token.scope.check()?;
    let digest = Digest::from_hex(&token.sha256)
        .ok_or_else(|| "`sha256` is not 64 lower-case hexadecimal digits".to_owned())?;
    let info = TokenInfo {
        name: token.name,
        scope: token.scope,
        created: Wall(token.created),
    };
    Ok(Entry {
        digest,
        info: Arc::new(info),
    })
}
