//! The security hooks of the running gateway: who guards nothing at the moment.

use serde_json::Value;

use super::check::Check;

const AREA: &str = "Security hooks";
const HINT: &str = "look at it with `mcpproxy hooks list`; it is tried again by itself";

/// Judges what the gateway says of its hooks.
pub(super) fn checks(hooks: &Value) -> Vec<Check> {
    let all = hooks.get("hooks").and_then(Value::as_array);
    let all = all.map_or(&[][..], Vec::as_slice);
    let ill: Vec<_> = all.iter().filter_map(ill).collect();
    let message = format!("{} of {} work", all.len() - ill.len(), all.len());
    let mut checks = vec![Check::ok(AREA, message)];
    checks.extend(ill);
    checks
}

fn ill(hook: &Value) -> Option<Check> {
    let text = |name: &str| hook.get(name).and_then(Value::as_str).unwrap_or_default();
    let is = |name: &str| hook.get(name) == Some(&Value::Bool(true));
    let (id, why) = (text("id"), text("message"));
    // What nobody waits for stops nothing, whatever its mode.
    let meanwhile = match text("failure_mode") {
        _ if is("asynchronous") => "nothing is told to it meanwhile",
        "fail_open" => "messages pass without it (`fail_open`)",
        _ => "messages are refused meanwhile (`fail_closed`)",
    };
    let what = match text("circuit") {
        _ if !is("started") => "could not start",
        "open" => "failed too often and is left alone",
        "half_open" => "failed too often and is tried one message at a time",
        _ if is("healthy") => return None,
        _ => {
            let message = format!("`{id}` is not well: {why}");
            return Some(Check::warn(AREA, message, HINT));
        }
    };
    let message = format!("`{id}` {what}, and {meanwhile}: {why}");
    Some(Check::fail(AREA, message, HINT))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::check::Status;
    use super::*;

    #[test]
    fn hooks_that_guard_nothing_are_told() {
        let check = |change: Value, expect: Option<(Status, &str)>| {
            let mut hook = json!({
                "id": "w", "started": true, "healthy": true, "circuit": "closed",
                "failure_mode": "fail_open", "asynchronous": false, "message": "m",
            });
            let fields = hook.as_object_mut().unwrap();
            fields.extend(change.as_object().unwrap().clone());
            let checks = checks(
                &json!({ "hooks": [hook, { "id": "x", "started": true, "healthy": true }] }),
            );
            let works = if expect.is_some() {
                "1 of 2 work"
            } else {
                "2 of 2 work"
            };
            assert_eq!(checks[0].message, works);
            let got = checks
                .get(1)
                .map(|check| (check.status, check.message.as_str()));
            assert_eq!(got, expect, "{change}");
        };
        check(json!({}), None);
        check(
            json!({ "started": false, "healthy": false }),
            Some((
                Status::Fail,
                "`w` could not start, and messages pass without it (`fail_open`): m",
            )),
        );
        check(
            json!({ "circuit": "open", "failure_mode": "fail_closed" }),
            Some((
                Status::Fail,
                "`w` failed too often and is left alone, and messages are refused meanwhile \
                 (`fail_closed`): m",
            )),
        );
        check(
            json!({ "circuit": "half_open", "asynchronous": true }),
            Some((
                Status::Fail,
                "`w` failed too often and is tried one message at a time, and nothing is told to it \
                 meanwhile: m",
            )),
        );
        check(
            json!({ "healthy": false }),
            Some((Status::Warn, "`w` is not well: m")),
        );
    }
}
