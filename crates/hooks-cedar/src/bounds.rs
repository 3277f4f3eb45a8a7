//! How much one policy may nest and go on. The reader of Cedar calls itself for every level and every
//! operator, and whoever may propose a policy must not be able to end the process with it.

/// Brackets that may stand within each other.
const DEEPEST: usize = 64;
/// Operators, brackets and members that one policy may have.
const LONGEST: usize = 500;

/// What is too much, and the byte at which it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMuch {
    pub(crate) at: usize,
    pub(crate) why: String,
}

/// Looks for what is too much. What is no Cedar is counted all the same: its reader says what is wrong.
pub(crate) fn check(text: &str) -> Result<(), TooMuch> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut parts) = (0, 0_usize, 0);
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let token = match byte {
            b'"' => string(rest),
            // Cedar lets a carriage return alone end a line.
            b'/' if rest.starts_with(b"//") => rest
                .iter()
                .position(|one| matches!(one, b'\n' | b'\r'))
                .unwrap_or(rest.len()),
            _ if is_word(byte) => rest.iter().take_while(|one| is_word(**one)).count(),
            _ if rest.starts_with(b"&&") || rest.starts_with(b"||") => 2,
            _ => 1,
        };
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => parts = 0,
            _ => {}
        }
        let counts = match byte {
            b'(' | b'[' | b'{' | b'&' | b'|' | b'+' | b'-' | b'*' | b'!' | b'.' => true,
            _ => rest.get(..token) == Some(b"if"),
        };
        parts += usize::from(counts);
        let why = if depth > DEEPEST {
            format!("brackets nest deeper than {DEEPEST} levels")
        } else if parts > LONGEST {
            format!("one policy has more than {LONGEST} operators, brackets and members")
        } else {
            at += token;
            continue;
        };
        return Err(TooMuch { at, why });
    }
    Ok(())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the length of a string with its quotes; one that does not end takes all that is left.
fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::{DEEPEST, LONGEST, check};

    #[test]
    fn what_nests_or_goes_on_is_counted_for_each_policy() {
        let policy =
            |condition: &str| format!("permit(principal,action,resource) when {{ {condition} }};");
        let nested =
            |levels: usize| ["(".repeat(levels), "true".into(), ")".repeat(levels)].concat();
        let chain = |operator: &str, times: usize| vec!["true"; times].join(operator);
        for fine in [
            String::new(),
            policy(&nested(DEEPEST - 1)),
            policy(&chain(" && ", LONGEST - 5)),
            policy(&chain(" && ", LONGEST - 5)).repeat(50),
            policy(&format!("context.text == \"{}\"", "(".repeat(5000))),
            policy(&format!("context.text == \"\\\"{}\"", "&&".repeat(5000))),
            format!("// {}\n{}", "[".repeat(5000), policy("true")),
            policy(&format!(
                "resource in [{}]",
                vec!["Tool::\"a\""; 5000].join(",")
            )),
            policy("notif == iffy"),
        ] {
            assert_eq!(check(&fine), Ok(()), "{fine:.80}");
        }
        for (text, why) in [
            (policy(&nested(DEEPEST)), "nest deeper"),
            (policy(&"[".repeat(1000)), "nest deeper"),
            ("{".repeat(1000), "nest deeper"),
            (policy(&chain(" && ", LONGEST)), "more than"),
            (policy(&chain("||", LONGEST)), "more than"),
            (policy(&chain("+", LONGEST)), "more than"),
            (
                policy(&["context", &".a".repeat(LONGEST)].concat()),
                "more than",
            ),
            (
                policy(&["context", &"[\"a\"]".repeat(LONGEST)].concat()),
                "more than",
            ),
            (
                policy(&"if true then true else ".repeat(LONGEST)),
                "more than",
            ),
            (policy(&"!".repeat(LONGEST)), "more than"),
            (policy(&["//\r", &"(".repeat(1000)].concat()), "nest deeper"),
            (
                policy(&"if\u{a0}1\u{2028}then\u{85}1 else\u{a0}".repeat(LONGEST)),
                "more than",
            ),
        ] {
            let fault = check(&text).unwrap_err();
            assert!(fault.why.contains(why), "{text:.80}: {fault:?}");
        }
    }
}
