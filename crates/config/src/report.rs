//! The mistakes found so far, each with the path it is about.

use crate::error::{Problem, Problems};
use crate::node::Place;
use crate::path::Path;
use crate::source::Texts;

/// Mistakes reported at most; who has more starts with these.
const MOST: usize = 100;

/// The mistakes of one load.
#[derive(Default)]
pub(crate) struct Report {
    found: Vec<(Path, Problem)>,
}

impl Report {
    /// Adds a mistake about the value at `path`.
    pub(crate) fn add(
        &mut self,
        texts: &Texts,
        path: &Path,
        place: Place,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        let origin = place.origin(texts);
        let problem = Problem {
            origin,
            path: path.to_string(),
            message: message.into(),
            hint,
        };
        self.push(path.clone(), problem);
    }

    /// Adds a mistake that is about a file as a whole or has its place already.
    pub(crate) fn add_problem(&mut self, problem: Problem) {
        self.push(Path::default(), problem);
    }

    fn push(&mut self, path: Path, problem: Problem) {
        if !self.is_full() {
            self.found.push((path, problem));
        }
    }

    /// Tells whether anything at `path` or inside it was found wrong, so that what follows from it
    /// is not reported.
    pub(crate) fn touches(&self, path: &Path) -> bool {
        self.found.iter().any(|(found, _)| path.covers(found))
    }

    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= MOST
    }

    /// Returns the mistakes as an error, or nothing where there are none.
    pub(crate) fn finish(self) -> Result<(), Problems> {
        if self.found.is_empty() {
            return Ok(());
        }
        Err(Problems::new(
            self.found.into_iter().map(|(_, problem)| problem).collect(),
        ))
    }
}
