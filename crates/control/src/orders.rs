//! Keeps the kill switch over restarts: which calls are stopped, since when and by whom.
//!
//! Every doubt ends in a stop. An order is in force before it is written and until its end is
//! written; a file that cannot be understood stops everything. What an order covers is for the
//! engine to know.

mod stored;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcpproxy_core::Wall;
use mcpproxy_engine::{StopScope, Stops};
use serde::{Serialize, Serializer};

use crate::change::Effect;
use crate::error::{Error, shown};
use crate::file::PrivateFile;

/// The file in the data folder.
const FILE: &str = "stopped.json";
const FILE_LIMIT: usize = 1024 * 1024;
/// The most orders that are kept; an order to stop everything is always taken.
const MOST_ORDERS: usize = 1000;
/// The longest name in a scope, in characters.
const LONGEST_NAME: usize = 256;
/// Who gives the order when the file cannot be understood.
const OURSELVES: &str = "mcpproxy";

/// An order to stop calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Order {
    /// What it stops.
    #[serde(serialize_with = "as_text")]
    pub scope: StopScope,
    /// Since when.
    pub since: Wall,
    /// Who gave it.
    pub by: String,
    /// Why, where nobody asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

type Book = BTreeMap<StopScope, Order>;

/// The orders of this installation.
#[derive(Debug)]
pub struct Orders {
    file: PrivateFile,
    /// INVARIANT: what the kill switch was last told, set while this is locked.
    book: Mutex<Book>,
}

impl Orders {
    /// Reads the orders and puts them in force; a file that cannot be used stops everything.
    pub fn open(data_dir: &Path, stops: &Stops, now: Wall) -> Self {
        let file = PrivateFile::new(data_dir, FILE, FILE_LIMIT);
        let book = read(&file).unwrap_or_else(|error| {
            let why = format!("{error}; repair it and restart, or resume `all` to start afresh");
            let order = Order {
                scope: StopScope::All,
                since: now,
                by: OURSELVES.to_owned(),
                why: Some(why),
            };
            Book::from([(StopScope::All, order)])
        });
        enforce(&book, stops);
        Self {
            file,
            book: Mutex::new(book),
        }
    }

    /// Stops calls at once, and then sees to it that a restart does not forget.
    pub fn stop(
        &self,
        stops: &Stops,
        scope: &StopScope,
        by: &str,
        now: Wall,
    ) -> Result<Effect, Error> {
        check_scope(scope)?;
        let order = Order {
            scope: scope.clone(),
            since: now,
            by: by.to_owned(),
            why: None,
        };
        let effect = self.put_in_force(stops, order)?;
        let kept = self.file.lock().and_then(|writing| {
            let book = self.merged();
            writing.replace(&self.print(&book)?)?;
            self.adopt(book, stops);
            Ok(effect)
        });
        kept.map_err(|cause| Error::NotKept {
            scope: scope.to_string(),
            cause: Box::new(cause),
        })
    }

    /// Lets calls go again, once it is written that they may.
    pub fn resume(&self, stops: &Stops, scope: &StopScope) -> Result<Order, Error> {
        let writing = self.file.lock()?;
        let mut book = self.merged();
        let order = book.remove(scope);
        let order = order.ok_or_else(|| Error::OrderUnknown {
            scope: shown(&scope.to_string()),
        })?;
        // CRASH: before this the order stands; after it a restart does not bring it back.
        writing.replace(&self.print(&book)?)?;
        self.book().remove(scope);
        self.adopt(book, stops);
        Ok(order)
    }

    /// Returns the orders in force.
    pub fn list(&self) -> Vec<Order> {
        self.book().values().cloned().collect()
    }

    /// Returns why everything is stopped without anybody's order, if that is so.
    pub fn problem(&self) -> Option<String> {
        self.book()
            .get(&StopScope::All)
            .and_then(|order| order.why.clone())
    }

    /// Needs no disk and waits for none.
    fn put_in_force(&self, stops: &Stops, order: Order) -> Result<Effect, Error> {
        let mut book = self.book();
        if book.contains_key(&order.scope) {
            return Ok(Effect::AlreadySo);
        }
        if book.len() >= MOST_ORDERS && order.scope != StopScope::All {
            return Err(Error::TooManyOrders { limit: MOST_ORDERS });
        }
        book.insert(order.scope.clone(), order);
        enforce(&book, stops);
        Ok(Effect::Made)
    }

    /// Returns what is in force together with what another process wrote.
    ///
    /// A file that was removed or spoilt meanwhile lifts nothing: this process knows its orders.
    fn merged(&self) -> Book {
        let mut book = read(&self.file).unwrap_or_default();
        book.extend(self.book().clone());
        book
    }

    /// Puts in force what another process wrote, beside what came in while it was read.
    fn adopt(&self, merged: Book, stops: &Stops) {
        let mut book = self.book();
        for (scope, order) in merged {
            book.entry(scope).or_insert(order);
        }
        enforce(&book, stops);
    }

    fn print(&self, book: &Book) -> Result<Vec<u8>, Error> {
        stored::print(book).map_err(|reason| self.file.broken(reason))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn enforce(book: &Book, stops: &Stops) {
    stops.set(book.keys().cloned().collect());
}

fn read(file: &PrivateFile) -> Result<Book, Error> {
    let Some(bytes) = file.read()?.bytes else {
        return Ok(Book::new());
    };
    stored::parse(&bytes).map_err(|reason| file.broken(reason))
}

/// Refuses a name that no call could have.
fn check_scope(scope: &StopScope) -> Result<(), Error> {
    let named = match scope {
        StopScope::All => return Ok(()),
        StopScope::Upstream(name) => name.as_str(),
        StopScope::Session(name) | StopScope::Principal(name) => name,
    };
    let fits =
        (1..=LONGEST_NAME).contains(&named.chars().count()) && !named.contains(char::is_control);
    if fits {
        Ok(())
    } else {
        Err(Error::OrderScope {
            scope: shown(&scope.to_string()),
        })
    }
}

fn as_text<S: Serializer>(scope: &StopScope, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(scope)
}
