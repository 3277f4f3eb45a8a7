//! The few facts about scripts and emoji that tell an honest invisible character from a planted one.

/// Whether `letter` belongs to a script that is written from right to left.
pub(crate) fn is_right_to_left(letter: char) -> bool {
    matches!(letter,
        '\u{590}'..='\u{5ff}' | '\u{600}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Whether `letter` belongs to a script whose letters join or stack, so that joiners spell.
pub(crate) fn is_joining(letter: char) -> bool {
    matches!(letter,
        '\u{600}'..='\u{7bf}' | '\u{840}'..='\u{8ff}' | '\u{900}'..='\u{dff}'
        | '\u{f00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{1800}'..='\u{18af}' | '\u{a840}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' | '\u{10a00}'..='\u{10fff}' | '\u{11000}'..='\u{11fff}')
}

/// Whether `letter` belongs to a script that is written without spaces between words.
pub(crate) fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{e00}'..='\u{eff}' | '\u{f00}'..='\u{fff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}' | '\u{1980}'..='\u{19df}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}')
}

/// Whether `letter` is a Chinese character, which may take an ideographic variation selector.
pub(crate) fn is_ideograph(letter: char) -> bool {
    matches!(letter,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Whether `letter` can stand in an emoji sequence, before or after a joiner.
pub(crate) fn is_emoji(letter: char) -> bool {
    matches!(letter,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{20e3}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

/// Whether a first variation selector (1 to 16) after `base` has a meaning somewhere.
pub(crate) fn takes_variation(base: char) -> bool {
    matches!(base, '0'..='9' | '#' | '*')
        || is_emoji(base)
        || is_ideograph(base)
        || matches!(base,
            '\u{2000}'..='\u{2bff}' | '\u{3000}'..='\u{30ff}' | '\u{1000}'..='\u{109f}'
            | '\u{1800}'..='\u{18af}' | '\u{a840}'..='\u{a87f}' | '\u{ff00}'..='\u{ffef}'
            | '\u{1d400}'..='\u{1d7ff}' | '\u{13000}'..='\u{1345f}')
}
