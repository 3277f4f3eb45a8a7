//! Which types of sensitive data are one family, as the rules that come with the program say it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use mcpproxy_detect::{Category, Rules};
use serde_json::Value;

/// Returns the types of a family, as `aws_secret_key` of `cloud_credentials`; none where there is no
/// such family.
pub(super) fn types_of(family: &str) -> Vec<String> {
    // Collecting the rules takes a moment, and is done only for who asks for a family.
    static FAMILIES: OnceLock<BTreeMap<Category, BTreeSet<String>>> = OnceLock::new();
    let Ok(category) = serde_json::from_value::<Category>(Value::from(family)) else {
        return Vec::new();
    };
    let types = FAMILIES.get_or_init(collected).get(&category);
    types.into_iter().flatten().cloned().collect()
}

fn collected() -> BTreeMap<Category, BTreeSet<String>> {
    let mut families = BTreeMap::<_, BTreeSet<_>>::new();
    let rules = Rules::new();
    for card in rules.iter().flat_map(Rules::cards) {
        let types = families.entry(card.category).or_default();
        types.insert(card.kind.clone());
    }
    families
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_types() {
        let check = |family: &str, expect: &str| {
            let types = types_of(family);
            assert!(types.iter().any(|one| one == expect), "{family}: {types:?}");
        };
        check("cloud_credentials", "aws_secret_key");
        check("private_key", "openssh");
        check("api_token", "gitlab_pat");
        check("auth_token", "jwt_token");
        check("database_credential", "postgres_connection");
        check("credit_card", "credit_card");
        check("pii", "email");
        check("high_entropy", "high_entropy");
        check("sensitive_file", "aws_credentials");
        assert_eq!(types_of("aws_secret_key"), Vec::<String>::new());
    }
}
