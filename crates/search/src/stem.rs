//! A light stemmer for English: brings the forms of one word together without mixing words up.
//! Words of other languages and scripts pass unchanged. Meaning is left to `synonyms`.

/// Shortest word that has a form to take off.
const SHORTEST: usize = 4;

/// Returns what the forms of a lower-case word have in common.
///
/// The result is a key, not a word: `create`, `creates`, `created`, `creating` and `creation` all
/// give `creat`.
pub(crate) fn stem(word: &str) -> String {
    if word.len() < SHORTEST || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let singular = singular(word);
    let mut stem = verb(&singular).unwrap_or(singular);
    if stem.len() >= SHORTEST && stem.ends_with('e') {
        stem.pop();
    }
    // `cancelled` and `canceled`, `install` and `installing`.
    if stem.len() > 5 && stem.ends_with("ll") {
        stem.pop();
    }
    stem
}

/// Takes off a plural, or the third person of a verb.
fn singular(word: &str) -> String {
    let with = |rest: &str, ending: &str| format!("{rest}{ending}");
    if let Some(rest) = word.strip_suffix("ies").filter(|rest| rest.len() > 1) {
        return with(rest, "y");
    }
    if let Some(rest) = word.strip_suffix("es") {
        let sibilant = ["ss", "x", "ch", "sh", "zz"]
            .iter()
            .any(|end| rest.ends_with(end));
        return with(rest, if sibilant { "" } else { "e" });
    }
    match word.strip_suffix('s') {
        Some(rest) if !rest.ends_with(['s', 'u', 'i']) => rest.to_owned(),
        _ => word.to_owned(),
    }
}

/// Takes off the ending of a verb, or of the noun made from one.
fn verb(word: &str) -> Option<String> {
    if let Some(rest) = word.strip_suffix("ied").filter(|rest| rest.len() > 1) {
        return Some(format!("{rest}y"));
    }
    if let Some(rest) = word.strip_suffix("ion") {
        return (rest.len() > 4 && rest.ends_with(['s', 't'])).then(|| rest.to_owned());
    }
    if let Some(rest) = word.strip_suffix("ment") {
        return (rest.len() > 5).then(|| rest.to_owned());
    }
    let rest = word.strip_suffix("ing").or_else(|| {
        let rest = word.strip_suffix("ed")?;
        (!rest.ends_with('e')).then_some(rest)
    })?;
    let is_word = rest.len() > 2 && rest.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    is_word.then(|| undouble(rest))
}

/// Takes one of two equal consonants that only the ending called for: `planned`, `running`.
fn undouble(stem: &str) -> String {
    let mut backwards = stem.chars().rev();
    let (last, before) = (backwards.next(), backwards.next());
    let doubled = last == before && last.is_some_and(|last| !"aeioulsz".contains(last));
    let mut stem = stem.to_owned();
    if doubled {
        stem.pop();
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(forms: &[&str], expect: &str) {
        for form in forms {
            assert_eq!(stem(form), expect, "{form}");
        }
    }

    #[test]
    fn forms_of_one_word_share_a_stem() {
        check(
            &["create", "creates", "created", "creating", "creation"],
            "creat",
        );
        check(&["query", "queries", "queried", "querying"], "query");
        check(&["branch", "branches", "branching"], "branch");
        check(&["file", "files", "filed", "filing"], "fil");
        check(&["run", "runs", "running"], "run");
        check(&["cancel", "cancelled", "canceled", "cancels"], "cancel");
        check(&["install", "installing", "installed"], "instal");
        check(&["address", "addresses"], "address");
        check(&["status", "statuses"], "status");
        check(
            &["deploy", "deployment", "deployments", "deployed"],
            "deploy",
        );
        check(&["merge", "merged", "merging"], "merg");
    }

    #[test]
    fn words_that_only_look_inflected_are_kept() {
        for word in [
            "string", "thing", "need", "this", "pods2", "s3", "comment", "station", "ändern",
        ] {
            check(&[word], word);
        }
    }
}
