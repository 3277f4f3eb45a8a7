//! What our hook writes into an agent's files: entries of lists in JSON, or whole texts.

use std::path::PathBuf;

use super::command::{HookCommand, TIMEOUT};
use super::{HookAgent, HookEvent};
use crate::places::{Places, Scope};
use crate::tree::{Node, Value};

/// Stands in every whole text of ours, so that it is recognised.
pub(super) const MARK: &str = "written by `mcpproxy hook install`";

/// Where and how the hook is to be installed.
pub(super) struct Setting<'a> {
    pub(super) agent: HookAgent,
    pub(super) places: &'a Places,
    pub(super) scope: Scope,
    pub(super) command: &'a HookCommand,
}

/// One file of an agent.
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) body: Body,
}

/// What a file is to hold.
pub(super) enum Body {
    /// Entries beside those of others.
    Json {
        /// Keys that the agent wants to see at the top.
        head: Vec<(&'static str, Node)>,
        entries: Vec<Entry>,
        /// Whether the file has our name, so that it goes when nothing else is in it.
        is_ours: bool,
    },
    /// A text that is ours alone.
    Text { text: String, is_executable: bool },
}

/// An entry of a list.
pub(super) struct Entry {
    /// The keys that lead to the list.
    pub(super) list: Vec<String>,
    pub(super) item: Node,
}

impl Setting<'_> {
    /// Makes a path below the home folder or the project.
    pub(super) fn path(&self, user: &str, project: &str) -> PathBuf {
        match self.scope {
            Scope::User => self.places.home.join(user),
            Scope::Project => self.places.project.join(project),
        }
    }

    /// Returns the command line for one event.
    pub(super) fn line(&self, event: &str) -> Node {
        Node::text(self.command.line(self.agent, event, self.places.os))
    }

    /// Says whether what fails shall stop the call.
    pub(super) fn is_closed(&self) -> bool {
        self.command.fail == super::FailMode::Closed
    }
}

impl Entry {
    /// Makes an entry that is a handler itself.
    pub(super) fn flat<'a>(
        event: &str,
        handler: impl IntoIterator<Item = (&'a str, Node)>,
    ) -> Self {
        Self {
            list: vec!["hooks".to_owned(), event.to_owned()],
            item: Node::map(handler),
        }
    }

    /// Makes an entry that holds a matcher and a list of one handler.
    pub(super) fn nested<'a>(
        event: &str,
        matcher: Option<&str>,
        handler: impl IntoIterator<Item = (&'a str, Node)>,
    ) -> Self {
        let handlers = Node::new(Value::List(vec![Node::map(handler)]));
        let matcher = matcher.map(|matcher| ("matcher", Node::text(matcher)));
        let item = matcher.into_iter().chain([("hooks", handlers)]);
        Self::flat(event, item)
    }
}

/// Makes a number that is written as it is.
pub(super) fn number(number: u64) -> Node {
    Node::new(Value::Number(number.to_string()))
}

/// Makes a truth value.
pub(super) fn truth() -> Node {
    Node::new(Value::Bool(true))
}

/// Returns the time after which agents give up, in seconds.
pub(super) fn seconds() -> Node {
    number(TIMEOUT.as_secs())
}

/// Says whether the event of an agent is one that can stop a call.
pub(super) fn is_gate(event: &str) -> bool {
    HookEvent::from_name(event) == Some(HookEvent::Pre)
}
