//! The project's own labelled set: made by code with fixed seeds, so that it can be read, grown and
//! made anew. Its wordings are not those that the rules' own tests have.

mod change;
mod data;
mod hidden;
mod honest;
mod orders;
pub(super) mod pii;
pub(super) mod secrets;
mod told;

use super::case::Case;

/// Returns the whole set.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = orders::cases();
    cases.extend(honest::cases());
    cases.extend(hidden::cases());
    cases.extend(change::cases());
    cases.extend(data::cases());
    cases.extend(secrets::cases());
    cases.extend(pii::cases());
    cases.extend(told::cases());
    cases
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_set_is_the_same_each_time_and_ids_are_unique() {
        let (once, again) = (cases(), cases());
        let ids: BTreeSet<&str> = once.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids.len(), once.len());
        let same = |(a, b): (&Case, &Case)| a.question == b.question;
        assert!(once.iter().zip(&again).all(same));
        assert!(once.len() > 2000, "{}", once.len());
    }
}
