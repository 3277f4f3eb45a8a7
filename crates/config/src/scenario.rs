//! Scenario files, read as strictly as a configuration: every mistake with file, line and the
//! nearest known name.
//!
//! Nothing is taken from the environment: a scenario comes out the same everywhere, and arguments
//! are what they say.

use std::path::Path as FilePath;

use mcpproxy_policy::scenario::Scenario;

use crate::check;
use crate::decode::decode;
use crate::error::Problems;
use crate::load::too_large;
use crate::node::{Entry, Node, Value};
use crate::path::Path;
use crate::read;
use crate::report::Report;
use crate::security::SecuritySettings;
use crate::source::{Source, Texts};

/// Reads a scenario; every mistake that can be found is in the error.
pub fn read_scenario(file: &FilePath, text: &str) -> Result<Scenario<SecuritySettings>, Problems> {
    let mut report = Report::default();
    let mut texts = Texts::default();
    if text.len() > read::LARGEST_FILE {
        report.add_problem(too_large(file));
        return report.finish().map(|()| Scenario::default());
    }
    let number = texts.add(Source::new(file.to_owned(), text.to_owned()));
    let Some(mut node) = read::read(&texts, number, &mut report) else {
        return report.finish().map(|()| Scenario::default());
    };
    let scenario: Scenario<SecuritySettings> =
        decode(&mut node, &Path::default(), &[], &texts, &mut report);
    let mut wrong = |path: &Path, message: &str| {
        if !report.touches(path) {
            let place = node.place_of(path.segments()).unwrap_or(node.place);
            report.add(&texts, path, place, message, None);
        }
    };
    if scenario.name.trim().is_empty() {
        wrong(&Path::of(["name"]), "the scenario has no name");
    }
    if scenario.steps.is_empty() {
        wrong(&Path::of(["steps"]), "the scenario has no steps");
    }
    for (index, step) in scenario.steps.iter().enumerate() {
        if step.call.trim().is_empty() {
            let path = Path::of(["steps"]).index(index).key("call");
            wrong(&path, "the step calls nothing");
        }
    }
    check::check_security(
        &scenario.config,
        &under_security(&node),
        &texts,
        &mut report,
    );
    report.finish().map(|()| scenario)
}

/// Returns the tree of a configuration with what the scenario brings.
fn under_security(node: &Node) -> Node {
    let mut root = Node::empty_map();
    if let (Some(config), Value::Map(entries)) = (node.entry("config"), &mut root.value) {
        entries.push(Entry {
            key: "security".to_owned(),
            ..config.clone()
        });
    }
    root
}
