//! Changes a JSON text by byte spans: entries out, one entry in, all else stays as it was.
//!
//! Comments between entries stay, also those that spoke of an entry which went: they are the
//! user's, and the diff shows them. A trailing comma is kept where there was one and never added,
//! since most agents read strict JSON. Whether the result means the right thing is checked by the
//! caller, which parses it again.

use super::slots::Slots;
use crate::patch::Patches;
use crate::style::{Style, json_inline, json_text, line_indent};
use crate::tree::{Edit, Member, Node, Put, Value};

/// Returns the text after the edit.
pub(crate) fn apply(text: &str, root: &Node, edit: &Edit) -> Result<String, String> {
    let style = Style::of(text, root);
    let mut patches = Patches::default();
    for list in lists(edit) {
        let put = edit.put.as_ref().filter(|put| put.list == list);
        let Some(map) = root.at(list) else {
            insert_list(text, root, &style, put, &mut patches)?;
            continue;
        };
        match (&map.value, put) {
            (Value::Map(members), put) => {
                let gone = |member: &Member| {
                    let mut paths = edit.remove.iter();
                    paths.any(|path| path.split_last() == Some((&member.key, list)))
                };
                let gone = members.iter().map(gone).collect();
                patch(&Slots::of(text, &style, map), gone, put, &mut patches);
            }
            (Value::Null, Some(put)) => {
                let made = Node::map([(put.name.as_str(), put.entry.clone())]);
                let indent = line_indent(text, map.span.start);
                patches.replace(map.span.clone(), style.json(&made, indent));
            }
            _ => return Err(format!("`{}` is not a map", list.join("."))),
        }
    }
    Ok(patches.apply(text))
}

/// Returns the paths of the maps that an edit touches, each once.
fn lists(edit: &Edit) -> Vec<&[String]> {
    let removed = edit.remove.iter().filter_map(|path| path.split_last());
    let put = edit.put.iter().map(|put| put.list.as_slice());
    let mut lists: Vec<&[String]> = Vec::new();
    for list in removed.map(|(_, list)| list).chain(put) {
        if !lists.contains(&list) {
            lists.push(list);
        }
    }
    lists
}

/// Puts in an entry whose list is missing, by adding the list to the root.
fn insert_list(
    text: &str,
    root: &Node,
    style: &Style,
    put: Option<&Put>,
    patches: &mut Patches,
) -> Result<(), String> {
    let Some(put) = put else { return Ok(()) };
    let ([key], Some(_)) = (put.list.as_slice(), root.members()) else {
        return Err("the file does not hold a map".to_owned());
    };
    let list = Put {
        list: Vec::new(),
        name: key.clone(),
        entry: Node::map([(put.name.as_str(), put.entry.clone())]),
    };
    if root.span.is_empty() {
        // A blank file: the reader made up the map, so there are no braces to write between.
        let whole = style.json(&Node::map([(key.as_str(), list.entry)]), "");
        let gap = if text.ends_with('\n') || text.trim().is_empty() {
            ""
        } else {
            style.newline
        };
        patches.replace(
            text.len()..text.len(),
            format!("{gap}{whole}{}", style.newline),
        );
        return Ok(());
    }
    Slots::of(text, style, root).append(&entry(style, &list), patches);
    Ok(())
}

/// Takes members out of a map and puts one in, at the place of the first that goes.
fn patch(slots: &Slots<'_>, mut gone: Vec<bool>, put: Option<&Put>, patches: &mut Patches) {
    let Some(put) = put else {
        return slots.delete(&gone, patches);
    };
    let entry = entry(slots.style, put);
    let Some(first) = gone.iter().position(|gone| *gone) else {
        return slots.append(&entry, patches);
    };
    slots.replace(first, &entry, patches);
    if let Some(flag) = gone.get_mut(first) {
        *flag = false;
    }
    slots.delete(&gone, patches);
}

/// Says how an entry is written, on one line or over several.
fn entry<'a>(style: &'a Style, put: &'a Put) -> impl Fn(Option<&str>) -> String + 'a {
    |indent| {
        let value = match indent {
            None => json_inline(&put.entry),
            Some(indent) => style.json(&put.entry, indent),
        };
        format!("{}: {value}", json_text(&put.name))
    }
}
