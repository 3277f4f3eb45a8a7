//! Counts by day. The gateway ends each part of an export with those of its own records; here they
//! are taken out of the parts and added up, to stand once after all records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What says that a line is no record.
const KIND: &str = "daily_rollup";

/// The counts so far, by day. They are noted with how far an export came, so that they are right
/// also where it goes on later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Days(BTreeMap<String, Value>);

impl Days {
    /// Takes the counts out of a part, whose last lines they are, and returns its records.
    pub(super) fn take<'a>(&mut self, part: &'a str) -> &'a str {
        let mut records = part;
        loop {
            let lines = records.strip_suffix('\n').unwrap_or(records);
            let start = lines.rfind('\n').map_or(0, |end| end + 1);
            let (before, line) = lines.split_at(start);
            let Some((day, counted)) = read(line) else {
                return records;
            };
            add(self.0.entry(day).or_default(), counted);
            records = before;
        }
    }

    /// Returns the counts, a day a line, the first day first.
    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        for day in self.0.values() {
            lines.extend([&*day.to_string(), "\n"]);
        }
        lines
    }
}

/// Reads a line that counts a day; nothing where it is a record.
fn read(line: &str) -> Option<(String, Value)> {
    let counted: Value = serde_json::from_str(line).ok()?;
    let is_one = counted.get("type")?.as_str()? == KIND;
    let day = counted.get("day")?.as_str()?.to_owned();
    is_one.then_some((day, counted))
}

/// Adds numbers up, wherever they stand; all else is the same in both.
fn add(sum: &mut Value, more: Value) {
    match (sum, more) {
        (Value::Object(sum), Value::Object(more)) => {
            for (name, value) in more {
                add(sum.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Number(sum), Value::Number(more)) => {
            let all = sum.as_u64().unwrap_or(0) + more.as_u64().unwrap_or(0);
            *sum = all.into();
        }
        (sum, more) => *sum = more,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: &str, total: u64, kind: &str) -> String {
        format!(
            "{{\"by_type\":{{\"{kind}\":{total}}},\"day\":\"{day}\",\"total\":{total},\
             \"type\":\"daily_rollup\"}}\n"
        )
    }

    #[test]
    fn counts_of_parts_are_added_up_and_records_stay_as_they_are() {
        let mut days = Days::default();
        let record = "{\"type\":\"tool_call\",\"tool_name\":\"daily_rollup\"}\n";
        let part = format!("{record}{record}{}", day("2026-01-02", 2, "tool_call"));
        assert_eq!(days.take(&part), [record, record].concat());
        let early = day("2026-01-01", 7, "tool_call");
        let part = [record, &early, &day("2026-01-02", 3, "approval")].concat();
        assert_eq!(days.take(&part), record);
        for odd in ["", record, "\n", "no json\n"] {
            assert_eq!(days.take(odd), odd);
        }
        let both = "{\"by_type\":{\"tool_call\":2,\"approval\":3},\"day\":\"2026-01-02\",\
                    \"total\":5,\"type\":\"daily_rollup\"}\n";
        assert_eq!(days.lines(), [&*early, both].concat());
    }
}
