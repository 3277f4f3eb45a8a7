//! The words of a sentence that lead from the name of a secret to the secret: `is now`, `was changed
//! to`, `lautet`. Deliberately absent: whether the word behind them is one.

/// What a word does on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Says that something is something; what it is may follow at once.
    Is,
    /// Says when.
    When,
    /// Says that it was made so; to what, a further word has to tell.
    Made,
    /// Leads to what it was made; by itself to a place, as in `the password is in the vault`.
    Toward,
}

/// The most words on the way.
const WORDS: usize = 5;
/// The most bytes of one of them.
const LONGEST: usize = 20;

const ROLES: &[(Role, &[&str])] = &[
    (
        Role::Is,
        &[
            "is",
            "was",
            "are",
            "were",
            "has",
            "have",
            "been",
            "be",
            "will",
            "ist",
            "war",
            "lautet",
            "lautete",
            "heißt",
            "est",
            "était",
            "sera",
            "es",
            "era",
            "fue",
            "será",
            "è",
            "sarà",
            "é",
            "foi",
            "ha",
            "luidt",
            "jest",
            "brzmi",
            "är",
            "er",
            "это",
            "был",
            "теперь",
        ],
    ),
    (
        Role::When,
        &[
            "now",
            "currently",
            "still",
            "jetzt",
            "nun",
            "neu",
            "maintenant",
            "désormais",
            "ahora",
            "ora",
            "adesso",
            "agora",
            "nu",
            "teraz",
        ],
    ),
    (
        Role::Made,
        &[
            "set",
            "changed",
            "reset",
            "updated",
            "rotated",
            "switched",
            "wurde",
            "wird",
            "geändert",
            "gesetzt",
            "zurückgesetzt",
            "été",
            "changé",
            "modifié",
            "réinitialisé",
            "sido",
            "cambiada",
            "cambiado",
            "restablecida",
            "stata",
            "cambiata",
            "impostata",
            "alterada",
            "mudada",
            "werd",
            "gewijzigd",
            "zmienione",
            "изменён",
            "изменен",
            "сменили",
        ],
    ),
    (
        Role::Toward,
        &[
            "to", "auf", "zu", "en", "pour", "par", "a", "por", "in", "para", "naar", "na", "на",
        ],
    ),
];

/// Returns the bytes and the number of the words that lead to a value, up to and with the space
/// before it, if a text begins with such words.
pub(super) fn lead(text: &[u8]) -> Option<(usize, usize)> {
    let mut at = 0;
    let mut roles = Vec::new();
    while roles.len() < WORDS
        && let Some((length, role)) = word(text.get(at..).unwrap_or_default())
    {
        at += length + 1;
        roles.push(role);
    }
    let made = roles.contains(&Role::Made);
    // The last is what French and Spanish say for `has been`.
    let begins = matches!(
        roles.as_slice(),
        [Role::Is | Role::Made, ..] | [Role::Toward, Role::Made, ..]
    );
    let arrives = match roles.last()? {
        Role::Is | Role::When => !made,
        Role::Toward => made,
        Role::Made => false,
    };
    (begins && arrives).then_some((at, roles.len()))
}

/// Returns the length and the role of the word that a text begins with and a space ends.
fn word(text: &[u8]) -> Option<(usize, Role)> {
    let length = text
        .iter()
        .take(LONGEST + 1)
        .position(|byte| *byte == b' ')?;
    let word = text.get(..length)?;
    let known = |words: &[&str]| {
        let mut words = words.iter();
        words.any(|known| known.as_bytes().eq_ignore_ascii_case(word))
    };
    let (role, _) = ROLES.iter().find(|(_, words)| known(words))?;
    Some((length, *role))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_to_a_value_or_somewhere_else() {
        let check = |text: &str, expect: Option<&str>| {
            let rest = lead(text.as_bytes()).and_then(|(length, _)| text.get(length..));
            assert_eq!(rest, expect, "{text}");
        };
        check("is x", Some("x"));
        check("is now x", Some("x"));
        check("was changed to x", Some("x"));
        check("has been reset to x", Some("x"));
        check("set to x", Some("x"));
        check("lautet x", Some("x"));
        check("wurde auf x gesetzt", Some("x gesetzt"));
        check("a été changé en x", Some("x"));
        check("ha sido cambiada a x", Some("x"));
        check("est désormais x", Some("x"));
        check("is in x", None);
        check("to x", None);
        check("changed x", None);
        check("was changed", Some("changed"));
        check("now x", None);
        check("", None);
    }
}
