//! The Claude Agent SDK: Claude Code's protocol, in functions of the program that uses it.
//!
//! Two modules are written into the project, one for Python and one for TypeScript; the program
//! hands what they export to the SDK.

use std::path::PathBuf;

use super::adapter::{Adapter, Answer};
use super::payload::Payload;
use super::reply::Reply;
use super::target::{Body, MARK, Setting, Target};
use super::{Tool, claude_code, snippet};
use crate::error::Error;
use crate::places::{Places, Scope};

pub(super) struct ClaudeAgentSdk;

impl Adapter for ClaudeAgentSdk {
    fn tool(&self, payload: &Payload) -> Tool {
        claude_code::tool(payload)
    }

    fn encode(&self, answer: &Answer<'_>) -> Reply {
        answer.claude()
    }

    fn targets(&self, setting: &Setting<'_>) -> Result<Vec<Target>, Error> {
        if setting.scope == Scope::User {
            return Err(Error::NoHook {
                agent: "Claude Agent SDK",
                reason: "it is part of a program, so that only `--scope project` is possible",
            });
        }
        let target = |(name, snippet): (&str, &str)| Target {
            path: setting.places.project.join(name),
            body: Body::Text {
                text: snippet::fill(snippet, MARK, setting),
                is_executable: false,
            },
        };
        let snippets = [
            ("mcpproxy_hooks.py", include_str!("snippets/sdk.py")),
            ("mcpproxy_hooks.ts", include_str!("snippets/sdk.ts")),
        ];
        Ok(snippets.map(target).into())
    }

    /// A program leaves no trace by which it could be found.
    fn traces(&self, _places: &Places) -> Vec<PathBuf> {
        Vec::new()
    }

    fn after_install(&self) -> Vec<String> {
        let note = "hand `hooks` of mcpproxy_hooks to the options of the SDK";
        vec![note.to_owned()]
    }
}
