//! Looking into answers of the interface: what is not there is empty, never a fault.

use serde_json::Value;

/// Reads members of a value by name.
pub(crate) trait Look {
    /// A string; empty where there is none.
    fn text(&self, name: &str) -> &str;
    /// A number; zero where there is none.
    fn count(&self, name: &str) -> u64;
    /// A list; empty where there is none.
    fn list(&self, name: &str) -> &[Value];
    /// Whether it says yes.
    fn is(&self, name: &str) -> bool;
    /// A member; nothing where there is none.
    fn part(&self, name: &str) -> &Value;
}

static NOTHING: Value = Value::Null;

impl Look for Value {
    fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Self::as_str).unwrap_or_default()
    }

    fn count(&self, name: &str) -> u64 {
        self.get(name).and_then(Self::as_u64).unwrap_or_default()
    }

    fn list(&self, name: &str) -> &[Value] {
        let list = self.get(name).and_then(Self::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    fn is(&self, name: &str) -> bool {
        self.get(name).and_then(Self::as_bool).unwrap_or_default()
    }

    fn part(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&NOTHING)
    }
}
