//! Takes back our own change from a file that somebody else has changed since.
//!
//! Agents rewrite their files all the time: Claude Code counts its starts in the file that lists
//! its servers. Only the entries we took out come back, and only the entry we put in goes.

use crate::agent::AgentKind;
use crate::manifest::Record;
use crate::tree::{Edit, KeyPath, Put};

/// Returns what the file shall say, or why that cannot be told.
pub(crate) fn take_back(record: &Record, original: &str, now: &str) -> Result<String, String> {
    let agent = AgentKind::from_slug(&record.agent).ok_or("its agent is not known")?;
    let format = agent.adapter().format();
    let before = format.parse(original).map_err(|syntax| syntax.message)?;
    let current = format.parse(now).map_err(|syntax| syntax.message)?;
    let ours = record.put.iter().filter(|path| current.at(path).is_some());
    let mut remove: Vec<KeyPath> = ours.cloned().collect();
    let mut text = now.to_owned();
    for path in &record.taken {
        let (Some((name, list)), Some(entry)) = (path.split_last(), before.at(path)) else {
            continue;
        };
        // Somebody gave the name away again, or gave up the project with its list.
        let given = current.at(path).is_some() && record.put.as_ref() != Some(path);
        let homeless = list.len() > 1 && current.at(list).is_none();
        if given || homeless {
            continue;
        }
        let put = Put {
            list: list.to_vec(),
            name: name.clone(),
            entry: entry.clone(),
        };
        let edit = Edit {
            remove: std::mem::take(&mut remove),
            put: Some(put),
        };
        text = format.edit(&text, &edit)?;
    }
    if remove.is_empty() {
        return Ok(text);
    }
    format.edit(&text, &Edit { remove, put: None })
}
