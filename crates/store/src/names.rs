//! The words that stand in columns for values of `core`: the same that its JSON has.

use mcpproxy_core::{Action, OfferKind, OfferState, Severity, Status};

pub(crate) fn status(status: Status) -> &'static str {
    match status {
        Status::Success => "success",
        Status::Error => "error",
        Status::Blocked => "blocked",
        Status::Rejected => "rejected",
        Status::Pending => "pending",
    }
}

pub(crate) fn action(action: Action) -> &'static str {
    match action {
        Action::Allow => "allow",
        Action::Warn => "warn",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
}

pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
        Severity::Critical => "critical",
    }
}

/// Reads the words of a baseline; what a later version wrote and this one does not know is none.
pub(crate) fn offer(kind: &str, state: &str) -> Result<(OfferKind, OfferState), String> {
    let known = OfferKind::named(kind).zip(OfferState::named(state));
    known.ok_or_else(|| format!("`{kind}/{state}` is not known to this version"))
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::Field;
    use mcpproxy_core::{Door, FlowType, Operation, RiskLevel};
    use serde::Serialize;

    use super::*;

    #[test]
    fn columns_json_and_filters_use_the_same_words() {
        fn check<T: Serialize + Copy>(field: Field, name: fn(T) -> &'static str, all: &[T]) {
            for one in all {
                let json = serde_json::to_value(one).unwrap();
                assert_eq!(json, name(*one));
                assert!(field.known().unwrap().contains(&name(*one)), "{json}");
            }
        }
        let doors = [Door::Mcp, Door::Cli, Door::Api, Door::Hook];
        check(Field::Source, Door::name, &doors);
        let statuses = [
            Status::Success,
            Status::Error,
            Status::Blocked,
            Status::Rejected,
            Status::Pending,
        ];
        check(Field::Status, status, &statuses);
        let actions = [Action::Allow, Action::Warn, Action::Ask, Action::Deny];
        check(Field::Decision, action, &actions);
        let flows = [
            FlowType::None,
            FlowType::InternalToInternal,
            FlowType::ExternalToExternal,
            FlowType::ExternalToInternal,
            FlowType::InternalToExternal,
        ];
        check(Field::FlowType, FlowType::name, &flows);
        let levels = [
            RiskLevel::None,
            RiskLevel::Medium,
            RiskLevel::High,
            RiskLevel::Critical,
        ];
        check(Field::RiskLevel, RiskLevel::name, &levels);
        let operations = [Operation::Read, Operation::Write, Operation::Destructive];
        check(Field::Operation, Operation::name, &operations);
        let severities = [
            Severity::Info,
            Severity::Low,
            Severity::Medium,
            Severity::High,
            Severity::Critical,
        ];
        check(Field::Severity, severity, &severities);
    }
}
