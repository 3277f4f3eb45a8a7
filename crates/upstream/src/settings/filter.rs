//! Which tools of an upstream are offered: allow and deny lists of patterns with `*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names of tools that are offered; `*` stands for any run of characters, and deny wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolFilter {
    /// Tools that are offered; an empty list offers all.
    pub allow: Vec<String>,
    /// Tools that are not offered, whatever `allow` says.
    pub deny: Vec<String>,
}

impl ToolFilter {
    /// Tells whether a tool of this name is offered.
    pub fn admits(&self, tool: &str) -> bool {
        let listed = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, tool));
        !listed(&self.deny) && (self.allow.is_empty() || listed(&self.allow))
    }
}

/// Matches in linear steps per `*`: the pieces between stars are found from left to right.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(head) else {
        return false;
    };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*') {
        match name.split_once(piece) {
            Some((_, after)) => name = after,
            // `split_once` finds the empty piece at once, so this is a piece that is not there.
            None => return false,
        }
    }
    name.ends_with(tail)
}
