//! The configuration section that classification reads. Keys and defaults are those of the
//! specifications.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::class::Kind;

/// Which side of the fence upstreams and tools are on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Classification {
    /// Class of a source that nothing is known about.
    pub default_unknown: Kind,
    /// Class by name of the upstream, before anything else is considered.
    pub server_overrides: BTreeMap<String, Kind>,
    /// Class by tool, as `upstream:tool`, before the class of its upstream.
    pub tool_overrides: BTreeMap<String, Kind>,
}

impl Default for Classification {
    fn default() -> Self {
        Self {
            default_unknown: Kind::Internal,
            server_overrides: BTreeMap::new(),
            tool_overrides: BTreeMap::new(),
        }
    }
}
