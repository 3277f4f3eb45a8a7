//! Reads and changes TOML through an editor that keeps comments and layout.
//!
//! Comments above an entry that goes are handed to the entry that comes, because the editor binds
//! them to the table below. A file the editor would write back differently is refused.

use toml_edit::{Document, DocumentMut, InlineTable, Item, Table, TableLike};

use crate::style::newline;
use crate::tree::{Edit, Member, Node, Put, Syntax, Value};

/// Parses a file.
pub(crate) fn parse(text: &str) -> Result<Node, Syntax> {
    let document = Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Syntax::at(
            text,
            at,
            error.message().lines().collect::<Vec<_>>().join(", "),
        )
    })?;
    Ok(Node {
        span: 0..text.len(),
        value: table(document.as_table()),
    })
}

fn table(table: &dyn TableLike) -> Value {
    let members = table
        .iter()
        .filter(|(_, item)| !item.is_none())
        .map(|(name, item)| {
            let key_span = table
                .key(name)
                .and_then(toml_edit::Key::span)
                .unwrap_or_default();
            Member {
                key: name.to_owned(),
                key_span,
                value: node(item),
            }
        });
    Value::Map(members.collect())
}

fn node(item: &Item) -> Node {
    let span = item.span().unwrap_or_default();
    let value = match item {
        Item::None => Value::Null,
        Item::Table(inner) => table(inner),
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter();
            Value::List(tables.map(|inner| Node::new(table(inner))).collect())
        }
        Item::Value(inner) => value(inner),
    };
    Node { span, value }
}

fn value(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => Value::Text(text.value().clone()),
        Toml::Integer(number) => Value::Number(number.value().to_string()),
        Toml::Float(number) => Value::Number(number.value().to_string()),
        Toml::Boolean(flag) => Value::Bool(*flag.value()),
        // No agent has times in its entries; as a number one is never written as a text.
        Toml::Datetime(time) => Value::Number(time.value().to_string()),
        Toml::InlineTable(inner) => table(inner),
        Toml::Array(items) => Value::List(
            items
                .iter()
                .map(|item| Node {
                    span: item.span().unwrap_or_default(),
                    value: self::value(item),
                })
                .collect(),
        ),
    }
}

/// Returns the text after the edit.
pub(crate) fn apply(text: &str, edit: &Edit) -> Result<String, String> {
    let parsed = Document::parse(text).map_err(|error| error.message().to_owned())?;
    let mut document = parsed.into_mut();
    if finish(text, &document) != text {
        return Err("it cannot be changed without reformatting it".to_owned());
    }
    let mut left = Leftovers::default();
    for path in &edit.remove {
        if let Some((key, list)) = path.split_last() {
            let kept = edit.put.as_ref().is_some_and(|put| put.list == list);
            if let Some(map) = find(document.as_table_mut(), list) {
                left.take(map, key, kept);
            }
        }
    }
    if let Some(put) = &edit.put {
        place(&mut document, put, left)?;
    }
    Ok(finish(text, &document))
}

/// Writes the document with the line ends of the original, which the editor does not keep.
fn finish(text: &str, document: &DocumentMut) -> String {
    let out = document.to_string();
    if newline(text) == "\n" {
        out
    } else {
        out.replace("\r\n", "\n").replace('\n', "\r\n")
    }
}

fn find<'a>(root: &'a mut Table, path: &[String]) -> Option<&'a mut dyn TableLike> {
    let mut map: &mut dyn TableLike = root;
    for key in path {
        map = map.get_mut(key)?.as_table_like_mut()?;
    }
    Some(map)
}

/// What an entry leaves behind when it goes: its place and the comments above it.
#[derive(Default)]
struct Leftovers {
    position: Option<isize>,
    /// The blanks and comments above the first one.
    prefix: Option<String>,
    /// The comments above the others.
    comments: String,
}

impl Leftovers {
    fn take(&mut self, map: &mut dyn TableLike, key: &str, wanted: bool) {
        let above_key = map
            .key(key)
            .map(|key| prefix(key.leaf_decor()))
            .unwrap_or_default();
        let Some(item) = map.remove(key) else { return };
        if !wanted {
            return;
        }
        let (above, position) = match &item {
            Item::Table(table) => header(table),
            _ => (above_key, None),
        };
        if self.prefix.is_none() {
            self.position = position;
            self.prefix = Some(above);
            return;
        }
        for line in above
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with('#'))
        {
            self.comments.push_str(line);
            self.comments.push('\n');
        }
    }
}

/// Returns what stands above the first header of a table, and where in the file that is. A table
/// that is only implied by its subtables has no header of its own.
fn header(table: &Table) -> (String, Option<isize>) {
    if !table.is_implicit() {
        return (prefix(table.decor()), table.position());
    }
    let inner = table
        .iter()
        .filter_map(|(_, item)| item.as_table())
        .map(header);
    inner
        .min_by_key(|(_, position)| *position)
        .unwrap_or_default()
}

fn prefix(decor: &toml_edit::Decor) -> String {
    decor
        .prefix()
        .and_then(|raw| raw.as_str())
        .unwrap_or_default()
        .to_owned()
}

fn place(document: &mut DocumentMut, put: &Put, left: Leftovers) -> Result<(), String> {
    let [key] = put.list.as_slice() else {
        return Err("the list is nested".to_owned());
    };
    let empty = document.is_empty() && document.trailing().as_str().unwrap_or_default().is_empty();
    let root = document.as_table_mut();
    if !root.contains_key(key) {
        let mut list = Table::new();
        list.set_implicit(true);
        root.insert(key, Item::Table(list));
    }
    match root.get_mut(key) {
        Some(Item::Table(list)) => {
            let gap = if empty {
                String::new()
            } else {
                "\n".to_owned()
            };
            let mut entry = Table::new();
            fill(&mut entry, &put.entry);
            entry.set_position(left.position);
            entry
                .decor_mut()
                .set_prefix(left.prefix.unwrap_or(gap) + &left.comments);
            list.insert(&put.name, Item::Table(entry));
            Ok(())
        }
        Some(Item::Value(toml_edit::Value::InlineTable(list))) => {
            let mut entry = InlineTable::new();
            fill(&mut entry, &put.entry);
            list.insert(&put.name, entry.into());
            Ok(())
        }
        _ => Err(format!("`{key}` is not a table")),
    }
}

fn fill(table: &mut dyn TableLike, entry: &Node) {
    for member in entry.members().unwrap_or_default() {
        table.insert(&member.key, Item::Value(written(&member.value)));
    }
}

fn written(node: &Node) -> toml_edit::Value {
    match &node.value {
        Value::Null => "".into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(spelling) => {
            let (integer, float) = (spelling.parse::<i64>(), spelling.parse::<f64>());
            let float = float.map(toml_edit::Value::from);
            integer.map_or_else(|_| float.unwrap_or_else(|_| spelling.into()), Into::into)
        }
        Value::Text(text) => text.as_str().into(),
        Value::List(items) => items
            .iter()
            .map(written)
            .collect::<toml_edit::Array>()
            .into(),
        Value::Map(_) => {
            let mut inner = InlineTable::new();
            fill(&mut inner, node);
            inner.into()
        }
    }
}

#[cfg(test)]
mod tests;
