//! What a WebAssembly hook may be told in the configuration.
//!
//! The parts that every hook has (id, priority, phases, timeout, failure mode) are not here.

use std::path::PathBuf;

use mcpproxy_core::ByteSize;
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
    pub max_memory: ByteSize,
    /// Most work for one question, about one unit for each instruction.
    pub max_fuel: u64,
    /// Most questions at once.
    pub max_instances: u32,
    /// Largest message that it is shown.
    pub max_body_size: ByteSize,
    /// Largest answer that is read.
    pub max_answer_size: ByteSize,
}

impl Default for WasmConfig {
    fn default() -> Self {
        Self {
            settings: Map::new(),
            sha256: None,
            max_memory: ByteSize::from_mib(32),
            max_fuel: 200_000_000,
            max_instances: 32,
            max_body_size: ByteSize::from_mib(1),
            max_answer_size: ByteSize::from_mib(2),
        }
    }
}

impl WasmConfig {
    /// Refuses bounds under which nothing runs, or which bound nothing.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let bounds = [
            ("max_memory", self.max_memory.bytes(), 1 << 16, 1 << 30),
            ("max_fuel", self.max_fuel, 1, u64::MAX >> 1),
            ("max_instances", self.max_instances.into(), 1, 1000),
            ("max_body_size", self.max_body_size.bytes(), 1, 1 << 28),
            ("max_answer_size", self.max_answer_size.bytes(), 1, 1 << 28),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_bound_nothing_are_refused() {
        let refused = |text: &str| {
            let config: WasmConfig = serde_json::from_str(text).unwrap();
            config.check().err().map(|why| why.to_string())
        };
        assert_eq!(refused("{}"), None);
        let expect = "`max_fuel` has to be from 1 to 9223372036854775807";
        assert_eq!(refused(r#"{"max_fuel":0}"#).as_deref(), Some(expect));
        let expect = "`max_memory` has to be from 65536 to 1073741824";
        assert_eq!(
            refused(r#"{"max_memory":"9000MB"}"#).as_deref(),
            Some(expect)
        );
        let expect = "`ab` is not a SHA-256 digest of 64 hexadecimal digits";
        assert_eq!(refused(r#"{"sha256":"ab"}"#).as_deref(), Some(expect));
    }

    #[test]
    fn what_nobody_knows_is_refused() {
        let read = serde_json::from_str::<WasmConfig>(r#"{"max_fule":1}"#);
        assert!(read.unwrap_err().to_string().contains("max_fule"));
    }
}
