//! Variables: what they may hold on the way that is walked, and what the environment gives.

use super::super::facts::Origin;
use super::super::programs::carried;
use super::super::syntax::{Assign, Assigned};
use super::super::value::{HOLE, Taint, Value};
use super::{Interp, MAX_CHOICES, Variable};

impl Interp {
    pub(super) fn set_all(&mut self, assigns: &[Assign]) {
        for assign in assigns {
            let values = match &assign.value {
                Assigned::Word(word) => vec![self.single(word)],
                Assigned::List(words) => self.fields(words),
            };
            if let [value] = values.as_slice() {
                carried::variable(self, &assign.name, value);
            }
            self.assign(&assign.name, values, assign.append);
        }
    }

    /// Sets a variable; where that may not happen, or differs by choice, older values stay.
    pub(in crate::shell) fn assign(&mut self, name: &str, mut values: Vec<Value>, append: bool) {
        if append && let Some(mut old) = self.chosen(name) {
            match (old.as_mut_slice(), values.as_slice()) {
                ([only], [more]) => only.push(more),
                _ => old.append(&mut values),
            }
            values = old;
        }
        let size: usize = values.iter().map(|value| value.text.len()).sum();
        if self.spent(size) {
            return;
        }
        let mut choices = vec![values];
        if (self.conditional > 0 || self.choice.is_some_and(|choice| choice > 0))
            && let Some(old) = self.variables.get(name)
        {
            let room = MAX_CHOICES - 1;
            choices.extend(old.iter().take(room).cloned());
            let kept = choices
                .iter()
                .flatten()
                .map(|value| value.text.len() + 32)
                .sum();
            if self.spent(kept) {
                return;
            }
        }
        self.set(name, choices);
    }

    pub(super) fn set(&mut self, name: &str, choices: Variable) {
        let old = self.variables.insert(name.to_owned(), choices);
        self.undo.push((name.to_owned(), old));
    }

    pub(super) fn chosen(&mut self, name: &str) -> Option<Vec<Value>> {
        let variable = self.variables.get(name)?;
        self.choices = self.choices.max(variable.len());
        let index = self.choice.unwrap_or(0) % variable.len().max(1);
        let values = variable.get(index).cloned()?;
        let size: usize = values.iter().map(|value| value.text.len()).sum();
        if self.spent(size) {
            return Some(vec![Value::unknown(HOLE, Taint::default())]);
        }
        Some(values)
    }

    pub(in crate::shell) fn lookup(&mut self, name: &str) -> Option<Value> {
        if let Ok(number) = name.parse::<usize>() {
            return match number {
                0 => Some(Value::text("bash")),
                number => self.arguments.get(number - 1).cloned(),
            };
        }
        let (base, index) = name.split_once('[').unwrap_or((name, "0]"));
        let values = match base {
            "@" | "*" => self.arguments.clone(),
            base => self.chosen(base)?,
        };
        let index = index.trim_end_matches(']');
        if matches!(base, "@" | "*") || matches!(index, "@" | "*") {
            let mut joined = Value::default();
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    joined.text.push(' ');
                }
                joined.push(value);
            }
            return Some(joined);
        }
        match index.parse::<usize>() {
            // How many there are of what is not known, is not known either.
            Ok(index) => values
                .get(index)
                .or_else(|| values.last().filter(|last| !last.known))
                .cloned(),
            Err(_) => values
                .first()
                .map(|first| Value::unknown(HOLE, first.taint)),
        }
    }

    pub(in crate::shell) fn list(&mut self, name: &str) -> Vec<Value> {
        let base = name.split('[').next().unwrap_or_default();
        match base {
            "@" | "*" => self.arguments.clone(),
            base => self.chosen(base).unwrap_or_default(),
        }
    }

    /// Gives what a variable that was not set here stands for.
    pub(in crate::shell) fn environment(&mut self, name: &str) -> Value {
        match name {
            "HOME" | "USERPROFILE" => return Value::text("~"),
            "IFS" => return Value::text(" "),
            "PWD" => return Value::text(self.folder.clone().unwrap_or_else(|| ".".to_owned())),
            "TMPDIR" => return Value::text("/tmp"),
            _ => {}
        }
        let named = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        let taint = if named {
            self.origin(Origin::Environment(name.to_owned()))
        } else {
            Taint::default()
        };
        Value::unknown(format!("${name}"), taint)
    }
}
