//! Ordinary files of this machine, in pieces: sources in the cargo registry, Node packages, lock
//! files, logs. Whatever is flagged in them counts as a false alarm.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::case::{Case, Detector, Expect, Mark, Set};
use super::random::Random;
use crate::tools;

/// Bytes of a piece.
const PIECE: usize = 2048;
/// Most files that are looked at below one folder.
const MOST_FILES: usize = 400_000;
/// Largest file that is read.
const MOST_BYTES: u64 = 4 << 20;
/// What ordinary text files are called.
const ENDINGS: &[&str] = &[
    "rs", "toml", "md", "txt", "js", "mjs", "cjs", "ts", "json", "py", "c", "h", "css", "html",
    "yml", "yaml", "sh", "lock", "log",
];

/// Returns up to `most` pieces of each origin, always the same ones of the same files.
pub(super) fn cases(most: usize) -> Vec<Case> {
    let mut files: BTreeMap<&'static str, Vec<PathBuf>> = BTreeMap::new();
    for (origin, folder) in folders() {
        let mut found = Vec::new();
        walk(&folder, &mut found);
        for file in found {
            files
                .entry(kind(&file).unwrap_or(origin))
                .or_default()
                .push(file);
        }
    }
    let sampled = files
        .into_iter()
        .flat_map(|(origin, files)| sample(origin, &files, most));
    sampled.collect()
}

/// The folders that are there, with what is in them.
fn folders() -> Vec<(&'static str, PathBuf)> {
    let home = env::home_dir().unwrap_or_default();
    let cargo = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let npm = Command::new("npm").args(["root", "-g"]).output().ok();
    let npm = npm.and_then(|output| String::from_utf8(output.stdout).ok());
    let mut folders = vec![
        ("cargo sources", cargo.join("registry/src")),
        ("logs", PathBuf::from("/var/log")),
        ("logs", home.join(".npm/_logs")),
    ];
    folders.extend(npm.map(|folder| ("npm packages", PathBuf::from(folder.trim()))));
    folders.extend(tools::folder().ok().map(|folder| ("npm packages", folder)));
    folders.retain(|(_, folder)| folder.is_dir());
    folders
}

/// What a file is, wherever it lies.
fn kind(file: &Path) -> Option<&'static str> {
    let name = file.file_name()?.to_str()?;
    match name.rsplit_once('.') {
        _ if name == "package-lock.json" || name == ".package-lock.json" => Some("lock files"),
        Some((_, "lock")) => Some("lock files"),
        Some((_, "log")) => Some("logs"),
        Some((_, "py")) => Some("python packages"),
        _ => None,
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<(PathBuf, bool)> = entries
        .filter_map(|entry| Some((entry.path(), entry.file_type().ok()?)))
        .filter(|(_, kind)| kind.is_dir() || kind.is_file())
        .map(|(path, kind)| (path, kind.is_dir()))
        .collect();
    paths.sort();
    for (path, is_folder) in paths {
        if found.len() >= MOST_FILES {
            return;
        }
        if is_folder {
            walk(&path, found);
        } else if path
            .extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(is_text)
        {
            found.push(path);
        }
    }
}

fn is_text(ending: &str) -> bool {
    ENDINGS.contains(&ending)
}

/// Takes files at even steps; where there are fewer files than pieces, several pieces of each.
fn sample(origin: &'static str, files: &[PathBuf], most: usize) -> Vec<Case> {
    let step = (files.len() / most.max(1)).max(1);
    let each = (most / files.len().max(1)).clamp(1, 64);
    let mut cases = Vec::new();
    for file in files.iter().step_by(step) {
        if fs::metadata(file).is_ok_and(|about| about.len() > MOST_BYTES) {
            continue;
        }
        let Ok(text) = fs::read_to_string(file) else {
            continue;
        };
        let name = short(file);
        let mut random = Random::named(&name);
        for _ in 0..each.min(text.len() / PIECE + 1) {
            let start = text.floor_char_boundary(random.below(text.len().saturating_sub(PIECE)));
            let end = text.floor_char_boundary(text.len().min(start + PIECE));
            let piece = text.get(start..end).unwrap_or_default();
            cases.extend(questions(origin, &format!("{name}@{start}"), piece));
        }
    }
    cases
}

/// The last folders of a path: enough to find the file, and nothing about the machine.
fn short(file: &Path) -> String {
    let parts: Vec<_> = file.iter().rev().take(4).collect();
    let parts = parts.iter().rev().map(|part| part.to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

/// A piece is asked about as data, and as a result that a model reads.
fn questions(origin: &str, id: &str, text: &str) -> [Case; 2] {
    let case = |kind: &str, detectors: &[Detector]| Case {
        set: Set::Machine,
        id: id.to_owned(),
        source: origin.to_owned(),
        question: json!({ "kind": kind, "text": text }),
        marks: detectors
            .iter()
            .map(|&detector| Mark {
                detector,
                expect: Expect::Clean,
            })
            .collect(),
    };
    [
        case(
            "text",
            &[Detector::Secrets, Detector::Pii, Detector::Phones],
        ),
        case("result", &[Detector::Results, Detector::Hidden]),
    ]
}
