//! Reads files into trees, within bounds, and remembers which were looked for.

use std::io::{self, Read};
use std::path::{Path as FilePath, PathBuf};

use crate::error::Problem;
use crate::node::Node;
use crate::origin::Origin;
use crate::path::Path;
use crate::read;
use crate::report::Report;
use crate::shape;
use crate::source::{Source, Texts};
use crate::sources::candidates;
use crate::variables::{self, Environment};

/// The files of one load and what was found wrong with them so far.
pub(super) struct Files<'a> {
    environment: Environment<'a>,
    /// A text that stands in for what a file holds.
    instead: Option<(&'a FilePath, &'a str)>,
    pub(super) texts: Texts,
    pub(super) report: Report,
    /// Files that were read.
    pub(super) read: Vec<PathBuf>,
    /// Files that were looked for.
    pub(super) watch: Vec<PathBuf>,
    /// Whether a file that is there could not be understood.
    pub(super) broken: bool,
}

impl<'a> Files<'a> {
    pub(super) fn new(environment: Environment<'a>) -> Self {
        Self {
            environment,
            instead: None,
            texts: Texts::default(),
            report: Report::default(),
            read: Vec::new(),
            watch: Vec::new(),
            broken: false,
        }
    }

    /// Reads a text in the place of what a file holds.
    pub(super) fn instead(mut self, file: &'a FilePath, text: &'a str) -> Self {
        self.instead = Some((file, text));
        self
    }

    /// Reads a file that must be there.
    pub(super) fn required(&mut self, file: &FilePath) -> Option<Node> {
        self.watch.push(file.to_owned());
        let found = self.file(file);
        if found.is_none() && !self.broken {
            self.fail(file, "there is no such file".to_owned());
        }
        found
    }

    /// Reads the file of a folder, if it has one, and names the one it would have.
    pub(super) fn folder(&mut self, folder: &FilePath) -> (Option<Node>, PathBuf) {
        let files = candidates(folder);
        let there: Vec<_> = files.iter().filter(|file| file.exists()).cloned().collect();
        let first = there.first().or(files.first()).cloned().unwrap_or_default();
        if let Some(second) = there.get(1) {
            let message = format!("`{}` is there too; keep one of them", second.display());
            self.fail(&first, message);
        }
        self.watch.extend(files);
        (self.file(&first), first)
    }

    /// Reads a file; nothing where it is not there, is read already or cannot be understood.
    fn file(&mut self, file: &FilePath) -> Option<Node> {
        let real = file.canonicalize().ok();
        if self
            .read
            .iter()
            .any(|other| real.is_some() && other.canonicalize().ok() == real)
        {
            return None;
        }
        if let Some((_, text)) = self.instead.filter(|(path, _)| *path == file) {
            return self.text(file, text.to_owned());
        }
        let text = match text_of(file) {
            Ok(text) => text?,
            Err(problem) => {
                self.broken = true;
                self.report.add_problem(problem);
                return None;
            }
        };
        self.text(file, text)
    }

    /// Reads a text that stands for a file; nothing where it cannot be understood.
    pub(super) fn text(&mut self, file: &FilePath, text: String) -> Option<Node> {
        if text.len() > read::LARGEST_FILE {
            self.broken = true;
            self.report.add_problem(too_large(file));
            return None;
        }
        self.read.push(file.to_owned());
        let number = self.texts.add(Source::new(file.to_owned(), text));
        let Some(mut node) = read::read(&self.texts, number, &mut self.report) else {
            self.broken = true;
            return None;
        };
        let root = Path::default();
        variables::resolve(
            &mut node,
            &root,
            &self.texts,
            self.environment,
            &mut self.report,
        );
        shape::shape(&mut node, &self.texts, &mut self.report);
        Some(node)
    }

    fn fail(&mut self, file: &FilePath, message: String) {
        self.broken = true;
        self.report.add_problem(about(file, message));
    }
}

pub(crate) fn too_large(file: &FilePath) -> Problem {
    about(
        file,
        format!("the file is larger than {} bytes", read::LARGEST_FILE),
    )
}

fn about(file: &FilePath, message: String) -> Problem {
    let origin = Origin::File {
        path: file.to_owned(),
        position: None,
    };
    Problem {
        origin,
        path: String::new(),
        message,
        hint: None,
    }
}

/// Returns the text of a file within bounds; nothing where there is no file.
pub(crate) fn text_of(file: &FilePath) -> Result<Option<String>, Problem> {
    let bytes = match bytes_of(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(about(file, format!("cannot read the file: {error}"))),
    };
    if bytes.len() > read::LARGEST_FILE {
        return Err(too_large(file));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let start = error
            .as_bytes()
            .get(..good)
            .map(String::from_utf8_lossy)
            .unwrap_or_default();
        let origin = Source::new(file.to_owned(), start.into_owned()).origin(good);
        Problem {
            origin,
            ..about(file, "the file is not UTF-8 text".to_owned())
        }
    })
}

fn bytes_of(file: &FilePath) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Whoever wants no configuration says so by this name.
    if file == FilePath::new("/dev/null") {
        return Ok(bytes);
    }
    let most = u64::try_from(read::LARGEST_FILE)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    mcpproxy_core::open_regular(file)?
        .take(most)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
