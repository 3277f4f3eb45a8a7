//! The form of `stopped.json`. Reading is strict: an order that is not understood must not be
//! lost.

use mcpproxy_core::Wall;
use mcpproxy_engine::StopScope;
use serde::{Deserialize, Serialize};

use super::{Book, Order, check_scope};
use crate::error::shown;
use crate::strict;

/// The form that this program writes, and the only one it reads.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    #[serde(deserialize_with = "strict::objects")]
    stopped: Vec<Stopped>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stopped {
    scope: String,
    since: u64,
    by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Writes the orders down.
pub(super) fn print(book: &Book) -> Result<Vec<u8>, String> {
    let stopped = |order: &Order| Stopped {
        scope: order.scope.to_string(),
        since: order.since.0,
        by: order.by.clone(),
        why: order.why.clone(),
    };
    let file = File {
        version: VERSION,
        stopped: book.values().map(stopped).collect(),
    };
    let mut text = serde_json::to_vec_pretty(&file).map_err(|error| error.to_string())?;
    text.push(b'\n');
    Ok(text)
}

/// Reads orders, or tells what is wrong with them.
pub(super) fn parse(bytes: &[u8]) -> Result<Book, String> {
    let file: File = strict::parse(bytes)?;
    if file.version != VERSION {
        return Err(format!(
            "it has version {}, and only {VERSION} is known",
            file.version
        ));
    }
    let mut book = Book::new();
    for stopped in file.stopped {
        let order = order(stopped)?;
        let scope = order.scope.clone();
        if book.insert(scope.clone(), order).is_some() {
            return Err(format!("`{scope}` is stopped twice"));
        }
    }
    Ok(book)
}

fn order(stopped: Stopped) -> Result<Order, String> {
    let scope = stopped.scope.parse::<StopScope>();
    let scope = scope.map_err(|_| format!("`{}` is no scope", shown(&stopped.scope)))?;
    check_scope(&scope).map_err(|error| error.to_string())?;
    Ok(Order {
        scope,
        since: Wall(stopped.since),
        by: stopped.by,
        why: stopped.why,
    })
}
