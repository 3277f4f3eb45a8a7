//! What sorts of bytes a text is made of: one cheap look, so that a scanner can say that there is
//! nothing for it before it starts. Most leaves of a message are short, and starting costs more than
//! reading them.
//!
//! Nothing here knows what a scanner looks for.

/// Longest text that is looked at; a longer one is taken to have every sort.
const LONGEST: usize = 96;

/// Which sorts of bytes a text has, and how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Makeup {
    sorts: u8,
    length: usize,
}

impl Makeup {
    /// A digit.
    pub const DIGIT: u8 = 1;
    /// A letter, or a byte of a character beyond ASCII.
    pub const LETTER: u8 = 2;
    /// A capital letter of ASCII.
    pub const CAPITAL: u8 = 4;
    /// The `@` of an address of mail.
    pub const AT: u8 = 8;
    /// What joins the parts of a path or of a name: `/`, `\`, `.`, `_`.
    pub const JOINT: u8 = 16;
    /// What opens or closes markup: `<`, `]`.
    pub const MARKUP: u8 = 32;
    /// A control other than tab and line break, or a byte of a character beyond ASCII.
    pub const ODD: u8 = 64;

    /// Looks at a text.
    pub fn of(text: &str) -> Self {
        let sorts = if text.len() > LONGEST {
            u8::MAX
        } else {
            text.bytes().fold(0, |sorts, byte| {
                sorts | SORTS.get(usize::from(byte)).copied().unwrap_or(u8::MAX)
            })
        };
        Self {
            sorts,
            length: text.len(),
        }
    }

    /// Tells whether the text has bytes of any of these sorts.
    pub fn has(self, sorts: u8) -> bool {
        self.sorts & sorts != 0
    }

    /// The length of the text in bytes.
    pub fn length(self) -> usize {
        self.length
    }
}

/// The sorts that each byte belongs to.
const SORTS: [u8; 256] = sorts();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn sorts() -> [u8; 256] {
    let mut table = [Makeup::LETTER | Makeup::ODD; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'0'..=b'9' => Makeup::DIGIT,
            b'a'..=b'z' => Makeup::LETTER,
            b'A'..=b'Z' => Makeup::LETTER | Makeup::CAPITAL,
            b'@' => Makeup::AT,
            b'/' | b'\\' | b'.' | b'_' => Makeup::JOINT,
            b'<' | b']' => Makeup::MARKUP,
            b'\t' | b'\n' | b'\r' => 0,
            _ if byte.is_ascii_control() => Makeup::ODD,
            _ => 0,
        };
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_sorts_of_its_bytes() {
        let check = |text: &str, expect: u8| {
            assert_eq!(Makeup::of(text).sorts, expect, "{text}");
        };
        check("", 0);
        check(
            "plain words, \n\t'quoted' [1",
            Makeup::LETTER | Makeup::DIGIT,
        );
        check("12 - 3", Makeup::DIGIT);
        check("Ab", Makeup::LETTER | Makeup::CAPITAL);
        check("@", Makeup::AT);
        check("./_\\", Makeup::JOINT);
        check("<]", Makeup::MARKUP);
        check("\u{1b}\u{7f}", Makeup::ODD);
        check("é", Makeup::LETTER | Makeup::ODD);
        check(&" ".repeat(LONGEST), 0);
        check(&" ".repeat(LONGEST + 1), u8::MAX);
    }
}
