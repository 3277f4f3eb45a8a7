//! Terminal escapes: how long one is and what it would do. ECMA-48 in its 7-bit form and as the
//! C1 characters of Unicode.

/// What an escape would do to a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Changes colour or weight.
    Style,
    /// Hides text: concealed, or the same colour in front and behind.
    Conceal,
    /// Moves, erases, or changes modes: text can be painted over.
    Move,
    /// Talks to the terminal: titles, links, the clipboard.
    Command,
    /// A lone introducer.
    Lone,
}

/// Measures the escape that `text` begins with: its length in bytes and its effect.
///
/// Returns nothing if `text` does not begin with an escape or a C1 introducer.
pub(crate) fn measure(text: &str) -> Option<(usize, Effect)> {
    let mut letters = text.chars();
    let first = letters.next()?;
    let (introducer, head) = match first {
        '\u{1b}' => match letters.next() {
            Some(next @ ('[' | ']' | 'P' | 'X' | '^' | '_')) => (next, 2),
            Some(' '..='/') => return Some((intermediate(text), Effect::Move)),
            Some('0'..='~') => return Some((2, Effect::Move)),
            _ => return Some((1, Effect::Lone)),
        },
        '\u{9b}' => ('[', 2),
        '\u{9d}' => (']', 2),
        '\u{90}' => ('P', 2),
        '\u{98}' => ('X', 2),
        '\u{9e}' => ('^', 2),
        '\u{9f}' => ('_', 2),
        '\u{80}'..='\u{9f}' => return Some((2, Effect::Lone)),
        _ => return None,
    };
    let rest = text.get(head..).unwrap_or_default();
    if introducer == '[' {
        let (length, effect) = control_sequence(rest);
        Some((head + length, effect))
    } else {
        Some((head + string(rest), Effect::Command))
    }
}

/// The length of `ESC` with intermediate bytes and its final byte.
fn intermediate(text: &str) -> usize {
    let body = text.bytes().skip(1);
    let middle = body.take_while(|byte| (0x20..=0x2f).contains(byte)).count();
    let last = text.as_bytes().get(1 + middle);
    1 + middle + usize::from(last.is_some_and(|byte| (0x30..=0x7e).contains(byte)))
}

/// The parameters, intermediates and final byte of a control sequence.
fn control_sequence(rest: &str) -> (usize, Effect) {
    let bytes = rest.as_bytes();
    let body = bytes
        .iter()
        .take_while(|byte| (0x20..=0x3f).contains(*byte))
        .count();
    match bytes.get(body) {
        Some(b'm') => {
            let parameters = rest.get(..body).unwrap_or_default();
            let effect = if conceals(parameters) {
                Effect::Conceal
            } else {
                Effect::Style
            };
            (body + 1, effect)
        }
        Some(0x40..=0x7e) => (body + 1, Effect::Move),
        _ => (body, Effect::Lone),
    }
}

/// Whether a style makes text unreadable: concealed, or one colour in front and behind.
fn conceals(parameters: &str) -> bool {
    let codes: Vec<&str> = parameters.split([';', ':']).collect();
    let mut front = None;
    let mut behind = None;
    let mut rest = codes.as_slice();
    while let [code, tail @ ..] = rest {
        rest = tail;
        match (*code, tail) {
            ("8", _) => return true,
            ("38" | "48", ["5", colour, after @ ..]) => {
                let side = if *code == "38" {
                    &mut front
                } else {
                    &mut behind
                };
                *side = Some(*colour);
                rest = after;
            }
            ("38" | "48", ["2", _, _, _, after @ ..]) => rest = after,
            (colour, _) if colour.len() == 2 => match colour.split_at_checked(1) {
                Some(("3", hue)) => front = Some(hue),
                Some(("4", hue)) => behind = Some(hue),
                _ => {}
            },
            _ => {}
        }
    }
    front.is_some() && front == behind
}

/// The length of a control string, its terminator included; one without a terminator ends at the
/// line's end, so that a stray introducer does not swallow a document.
fn string(rest: &str) -> usize {
    for (at, letter) in rest.char_indices() {
        match letter {
            '\u{7}' => return at + 1,
            '\u{9c}' => return at + 2,
            '\u{1b}' => {
                let terminated = rest.as_bytes().get(at + 1) == Some(&b'\\');
                return if terminated { at + 2 } else { at };
            }
            '\n' | '\r' => return at,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_measured_to_their_end() {
        let check = |text: &str, expect: Option<(usize, Effect)>| {
            assert_eq!(measure(text), expect, "{text:?}");
        };
        check("plain", None);
        check("\u{1b}[31mred", Some((5, Effect::Style)));
        check("\u{1b}[8mgone", Some((4, Effect::Conceal)));
        check("\u{1b}[30;40mgone", Some((8, Effect::Conceal)));
        check("\u{1b}[38;5;15;48;5;15mgone", Some((18, Effect::Conceal)));
        check("\u{1b}[2J", Some((4, Effect::Move)));
        check("\u{9b}1Aup", Some((4, Effect::Move)));
        check("\u{1b}]8;;http://x\u{7}link", Some((14, Effect::Command)));
        check("\u{1b}]0;title\u{1b}\\x", Some((11, Effect::Command)));
        check("\u{1b}Pq#0\nrest", Some((5, Effect::Command)));
        check("\u{1b}(Bx", Some((3, Effect::Move)));
        check("\u{1b}", Some((1, Effect::Lone)));
        check("\u{1b}[", Some((2, Effect::Lone)));
        check("\u{85}", Some((2, Effect::Lone)));
    }
}
