//! What may be shown of a secret.

use mcpproxy_core::Masked;

/// Returns at most the first four and the last two characters, less of short values.
pub(super) fn mask(secret: &str) -> Masked {
    let (head, tail) = match secret.chars().count() {
        0..8 => (0, 0),
        8..16 => (2, 0),
        _ => (4, 2),
    };
    let start: String = secret.chars().take(head).collect();
    let mut end: Vec<char> = secret.chars().rev().take(tail).collect();
    end.reverse();
    let end: String = end.into_iter().collect();
    Masked::from_safe(format!("{start}***{end}").replace(['\r', '\n'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_shown() {
        let check = |secret: &str, expect: &str| assert_eq!(mask(secret).as_str(), expect);
        check("short", "***");
        check("12345678", "12***");
        check("0123456789abcdef", "0123***ef");
        check("äöüäöüäöüäöüäöüä", "äöüä***üä");
    }
}
