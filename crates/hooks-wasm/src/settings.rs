//! What a WebAssembly hook may be told in the configuration.
//!
//! The parts that every hook has (id, priority, phases, timeout, failure mode) are not here.

mod size;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Error;

/// One WebAssembly hook.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WasmSettings {
    /// File that holds the component.
    pub path: PathBuf,
    /// What else it may be told.
    #[serde(default)]
    pub config: WasmConfig,
}

/// What stands under `config` of a WebAssembly hook.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WasmConfig {
    /// What the component itself is told; it says what it understands.
    pub settings: Map<String, Value>,
    /// SHA-256 digest that the file must have, in hexadecimal digits.
    pub sha256: Option<String>,
    /// Most memory of one instance.
    #[serde(with = "size")]
    #[schemars(with = "size::Size")]
    pub max_memory: u64,
    /// Most work for one question, about one unit for each instruction.
    pub max_fuel: u64,
    /// Most questions at once.
    pub max_instances: u32,
    /// Largest message that it is shown.
    #[serde(with = "size")]
    #[schemars(with = "size::Size")]
    pub max_body_size: u64,
    /// Largest answer that is read.
    #[serde(with = "size")]
    #[schemars(with = "size::Size")]
    pub max_answer_size: u64,
}

impl Default for WasmConfig {
    fn default() -> Self {
        Self {
            settings: Map::new(),
            sha256: None,
            max_memory: 32 << 20,
            max_fuel: 200_000_000,
            max_instances: 32,
            max_body_size: 1 << 20,
            max_answer_size: 2 << 20,
        }
    }
}

impl WasmConfig {
    /// Refuses bounds under which nothing runs, or which bound nothing.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let bounds = [
            ("max_memory", self.max_memory, 1 << 16, 1 << 30),
            ("max_fuel", self.max_fuel, 1, u64::MAX >> 1),
            ("max_instances", self.max_instances.into(), 1, 1000),
            ("max_body_size", self.max_body_size, 1, 1 << 28),
            ("max_answer_size", self.max_answer_size, 1, 1 << 28),
        ];
        for (name, value, least, most) in bounds {
            if !(least..=most).contains(&value) {
                return Err(Error::Bound { name, least, most });
            }
        }
        match &self.sha256 {
            Some(pin) if pin.len() != 64 || !pin.bytes().all(|b| b.is_ascii_hexdigit()) => {
                Err(Error::Pin(pin.clone()))
            }
            Some(_) | None => Ok(()),
        }
    }
}
