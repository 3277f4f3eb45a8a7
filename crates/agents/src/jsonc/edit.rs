//! Changes a JSON text by byte spans: entries out, one entry in, all else stays as it was.
//!
//! Comments between entries stay, also those that spoke of an entry which went: they are the
//! user's, and the diff shows them. A trailing comma is kept where there was one and never added,
//! since most agents read strict JSON. Whether the result means the right thing is checked by the
//! caller, which parses it again.

use std::ops::Range;

use super::skip_trivia;
use crate::patch::Patches;
use crate::style::{Style, json_inline, json_text, line_end, line_indent, line_start, next_line};
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
                let map = MapEdit {
                    text,
                    style: &style,
                    map,
                    members,
                    put,
                };
                map.patch(gone, &mut patches);
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
    let ([key], Some(members)) = (put.list.as_slice(), root.members()) else {
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
    let map = MapEdit {
        text,
        style,
        map: root,
        members,
        put: Some(&list),
    };
    map.patch(|_| false, patches);
    Ok(())
}

struct MapEdit<'a> {
    text: &'a str,
    style: &'a Style,
    map: &'a Node,
    members: &'a [Member],
    put: Option<&'a Put>,
}

impl MapEdit<'_> {
    fn patch(&self, gone: impl Fn(&Member) -> bool, patches: &mut Patches) {
        let mut gone: Vec<bool> = self.members.iter().map(gone).collect();
        let Some(put) = self.put else {
            return self.delete(&gone, patches);
        };
        if let Some((first, member)) = self.members.iter().enumerate().find(|(i, _)| is(&gone, *i))
        {
            let span = member.key_span.start..member.value.span.end;
            patches.replace(span, self.entry(put, self.inline()));
            if let Some(flag) = gone.get_mut(first) {
                *flag = false;
            }
            return self.delete(&gone, patches);
        }
        if self.members.is_empty() {
            self.fill(put, patches);
        } else {
            self.append(put, patches);
        }
    }

    fn delete(&self, gone: &[bool], patches: &mut Patches) {
        let kept = gone.iter().rposition(|gone| !gone);
        if kept.is_none() && self.put.is_none() && !self.has_comments() {
            let inner = self.map.span.start + 1..self.map.span.end.saturating_sub(1);
            return patches.delete(inner);
        }
        for (i, member) in self
            .members
            .iter()
            .enumerate()
            .filter(|(i, _)| is(gone, *i))
        {
            self.delete_member(member, self.comma(i), patches);
        }
        let last = self.members.len().saturating_sub(1);
        let dangling = kept.filter(|kept| *kept != last && self.comma(last).is_none());
        if let Some(comma) = dangling.and_then(|kept| self.comma(kept)) {
            patches.delete(comma..comma + 1);
        }
    }

    /// Deletes a member with its comma, and the whole line where nothing else is on it.
    fn delete_member(&self, member: &Member, comma: Option<usize>, patches: &mut Patches) {
        let start = member.key_span.start;
        let mut end = member.value.span.end;
        match comma {
            Some(comma) if self.is_blank(end..comma) => end = comma + 1,
            Some(comma) => patches.delete(comma..comma + 1),
            None => {}
        }
        let line = line_start(self.text, start)..line_end(self.text, end);
        let inside = |at: usize| at.clamp(self.map.span.start + 1, self.map.span.end - 1);
        let line = inside(line.start)..inside(line.end);
        match (
            self.is_blank(line.start..start),
            self.is_blank(end..line.end),
        ) {
            (true, true) => patches.delete(line.start..inside(next_line(self.text, end))),
            (false, true) => patches.delete(self.blank_before(start)..line.end),
            _ => patches.delete(start..self.blank_after(end)),
        }
    }

    fn append(&self, put: &Put, patches: &mut Patches) {
        let Some(last) = self.members.last() else {
            return;
        };
        let entry = self.entry(put, self.inline());
        let gap = if self.inline() {
            " ".to_owned()
        } else {
            format!("{}{}", self.style.newline, self.indent())
        };
        if let Some(comma) = self.comma(self.members.len() - 1) {
            patches.replace(comma + 1..comma + 1, format!("{gap}{entry},"));
        } else {
            let end = last.value.span.end;
            patches.replace(end..end, format!(",{gap}{entry}"));
        }
    }

    fn fill(&self, put: &Put, patches: &mut Patches) {
        let inner = self.map.span.start + 1..self.map.span.end.saturating_sub(1);
        let newline = self.style.newline;
        let entry = format!("{newline}{}{}", self.indent(), self.entry(put, false));
        if self.has_comments() {
            return patches.replace(inner.start..inner.start, entry);
        }
        let base = line_indent(self.text, self.map.span.start);
        patches.replace(inner, format!("{entry}{newline}{base}"));
    }

    fn entry(&self, put: &Put, inline: bool) -> String {
        let value = if inline {
            json_inline(&put.entry)
        } else {
            self.style.json(&put.entry, &self.indent())
        };
        format!("{}: {value}", json_text(&put.name))
    }

    /// Says whether the members share one line.
    fn inline(&self) -> bool {
        let map = self.text.get(self.map.span.clone()).unwrap_or_default();
        !map.contains('\n') && !self.members.is_empty()
    }

    fn indent(&self) -> String {
        let first = self.members.first().map(|member| member.key_span.start);
        let own_line = first.filter(|at| self.is_blank(line_start(self.text, *at)..*at));
        own_line.map_or_else(
            || {
                format!(
                    "{}{}",
                    line_indent(self.text, self.map.span.start),
                    self.style.unit
                )
            },
            |at| line_indent(self.text, at).to_owned(),
        )
    }

    /// Returns where the comma behind a member stands.
    fn comma(&self, member: usize) -> Option<usize> {
        let end = self.members.get(member)?.value.span.end;
        let next = skip_trivia(self.text, end);
        (self.text.as_bytes().get(next) == Some(&b',')).then_some(next)
    }

    /// Says whether a comment stands between the members.
    fn has_comments(&self) -> bool {
        let mut at = self.map.span.start + 1;
        for member in self.members {
            if self.slice(at..member.key_span.start).contains('/') {
                return true;
            }
            at = member.value.span.end;
        }
        self.slice(at..self.map.span.end).contains('/')
    }

    fn slice(&self, span: Range<usize>) -> &str {
        self.text.get(span).unwrap_or_default()
    }

    fn is_blank(&self, span: Range<usize>) -> bool {
        self.slice(span)
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
    }

    fn blank_before(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.trim_end_matches([' ', '\t']).len()
    }

    fn blank_after(&self, at: usize) -> usize {
        let after = self.text.get(at..).unwrap_or_default();
        at + after.len() - after.trim_start_matches([' ', '\t']).len()
    }
}

fn is(flags: &[bool], at: usize) -> bool {
    flags.get(at).copied().unwrap_or(false)
}
