//! The check digits of the world: Luhn, Verhoeff, ISO 7064 and weighted sums, and plain dates.
//!
//! Every function takes ASCII and answers; none of them knows which number it is looking at.

/// The value of the digit at `at`, or zero.
pub(super) fn digit(bytes: &[u8], at: usize) -> u32 {
    match bytes.get(at) {
        Some(byte @ b'0'..=b'9') => u32::from(byte - b'0'),
        _ => 0,
    }
}

/// The number that the digits from `from` to `to` spell.
pub(super) fn number(bytes: &[u8], from: usize, to: usize) -> u64 {
    let digits = bytes.get(from..to).unwrap_or_default();
    digits.iter().fold(0, |sum: u64, byte| {
        sum.wrapping_mul(10)
            .wrapping_add(u64::from(byte.wrapping_sub(b'0')))
    })
}

/// The sum of digits times weights, from the first digit on.
pub(super) fn weighed(bytes: &[u8], weights: &[u32]) -> u32 {
    let pairs = weights.iter().enumerate();
    pairs.map(|(at, weight)| weight * digit(bytes, at)).sum()
}

/// Whether all bytes are the same.
pub(super) fn uniform(bytes: &[u8]) -> bool {
    bytes.windows(2).all(|pair| pair.first() == pair.last())
}

/// How many different bytes there are.
pub(super) fn variety(bytes: &[u8]) -> usize {
    let seen = bytes
        .iter()
        .fold(0_u128, |seen, byte| seen | 1 << (byte & 0x7F));
    usize::try_from(seen.count_ones()).unwrap_or(0)
}

/// Whether the digits only count up or down, as in `123456789`.
pub(super) fn counting(bytes: &[u8]) -> bool {
    let steps =
        |by| (1..bytes.len()).all(|at| (10 + digit(bytes, at) - digit(bytes, at - 1)) % 10 == by);
    steps(1) || steps(9)
}

/// Whether digits were typed and not given out: they count, or are the same few over and over.
/// Letters in a value say that it is none of these.
pub(super) fn typed(bytes: &[u8]) -> bool {
    const SHORTEST: usize = 5;
    const LONG: usize = 8;
    let digits: Vec<u8> = bytes
        .iter()
        .copied()
        .filter(u8::is_ascii_alphanumeric)
        .collect();
    let repeats = || {
        let half = digits.len() / 2;
        (2..=half).any(|by| {
            digits
                .iter()
                .zip(digits.iter().skip(by))
                .all(|(one, two)| one == two)
        })
    };
    let few = match digits.len() {
        ..LONG => 1,
        // Of eight random digits less than one in a hundred has no more than three of a kind.
        _ => 3,
    };
    digits.len() >= SHORTEST
        && digits.iter().all(u8::is_ascii_digit)
        && (counting(&digits) || variety(&digits) <= few || digits.len() >= LONG && repeats())
}

/// Luhn, the check digit last.
pub(super) fn luhn(bytes: &[u8]) -> bool {
    let sum = bytes
        .iter()
        .rev()
        .enumerate()
        .map(|(at, byte)| {
            let value = u32::from(byte.wrapping_sub(b'0'));
            match (at % 2, value) {
                (0, value) => value,
                (_, value @ 0..5) => value * 2,
                (_, value) => value * 2 - 9,
            }
        })
        .sum::<u32>();
    sum.is_multiple_of(10)
}

/// Verhoeff, the check digit last.
pub(super) fn verhoeff(bytes: &[u8]) -> bool {
    const PERMUTATION: [u8; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let mut state = 0;
    for (at, byte) in bytes.iter().rev().enumerate() {
        let mut value = byte.wrapping_sub(b'0');
        for _ in 0..at % 8 {
            value = PERMUTATION.get(usize::from(value)).copied().unwrap_or(0);
        }
        state = dihedral(state, value);
    }
    state == 0
}

/// The product in the dihedral group of ten elements.
fn dihedral(left: u8, right: u8) -> u8 {
    match (left < 5, right < 5) {
        (true, true) => (left + right) % 5,
        (true, false) => 5 + (left + right) % 5,
        (false, true) => 5 + (left + 5 - right) % 5,
        (false, false) => (left + 5 - right) % 5,
    }
}

/// The remainder by 97 of a text in which letters count from ten on.
pub(super) fn mod97(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte.to_ascii_uppercase().wrapping_sub(b'A')) + 10) % 97,
    })
}

/// ISO 7064 MOD 11,10, the check digit last.
pub(super) fn mod11_10(bytes: &[u8]) -> bool {
    let Some((last, body)) = bytes.split_last() else {
        return false;
    };
    let product = body.iter().fold(10, |product, byte| {
        let sum = (u32::from(byte.wrapping_sub(b'0')) + product) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (11 - product) % 10 == u32::from(last.wrapping_sub(b'0'))
}

/// Whether year, month and day name a day; a year below one hundred may be of any century.
pub(super) fn is_day(year: u64, month: u64, day: u64) -> bool {
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) => 29,
        2 => 28,
        _ => return false,
    };
    (1..=last).contains(&day)
}

/// Whether the six digits at `at` read as year, month and day.
pub(super) fn is_yymmdd(bytes: &[u8], at: usize) -> bool {
    is_day(
        number(bytes, at, at + 2),
        number(bytes, at + 2, at + 4),
        number(bytes, at + 4, at + 6),
    )
}

/// Whether the six digits at `at` read as day, month and year.
pub(super) fn is_ddmmyy(bytes: &[u8], at: usize) -> bool {
    is_day(
        number(bytes, at + 4, at + 6),
        number(bytes, at + 2, at + 4),
        number(bytes, at, at + 2),
    )
}
