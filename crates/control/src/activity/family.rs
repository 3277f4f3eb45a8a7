//! Families of sensitive data: whoever asks for one means every type that belongs to it.

use mcpproxy_core::{ActivityQuery, Field};

use super::Question;
use crate::control::Control;
use crate::error::Error;

impl Control {
    /// Reads what is asked for; a family, as `cloud_credentials`, stands for its types.
    pub(super) fn question(&self, asked: &[(String, String)]) -> Result<Question, Error> {
        let mut question = Question::of(asked)?;
        widen(&mut question.query, |family| self.types_of(family));
        Ok(question)
    }

    /// Returns the types of a family: those that come with the program, and the operator's own.
    fn types_of(&self, family: &str) -> Vec<String> {
        let mut types = self.families().map(|of| of(family)).unwrap_or_default();
        let patterns = self.engine().settings().detector.custom_patterns;
        let of_family = |category| {
            let name = serde_json::to_value(category).unwrap_or_default();
            name == *family
        };
        let own = patterns.into_iter().filter(|one| of_family(one.category));
        types.extend(own.map(|one| one.name));
        types
    }
}

/// Adds the types of the families that are asked for.
pub(super) fn widen(query: &mut ActivityQuery, types_of: impl Fn(&str) -> Vec<String>) {
    let fields = query.wanted.iter_mut();
    for (_, values) in fields.filter(|(field, _)| *field == Field::Detection) {
        let types: Vec<_> = values.iter().flat_map(|one| types_of(one)).collect();
        values.extend(types);
    }
}
