//! Numbers in canonical form: RFC 8785, and the form that the peer's packs are hashed in.
//!
//! Both take the shortest digits that read back as the same double and differ only in how they
//! print what is very large or very small, and in whether an integer may exceed a double.

/// How numbers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// As RFC 8785 has it: every number is a double, printed as ECMAScript prints it.
    Rfc8785,
    /// As assay-ai has it: integers stand as they are, exponents are written `1E-7`.
    Peer,
}

/// Prints a number's text canonically; nothing if it is beyond a double's range.
pub(super) fn canonical(text: &str, numbers: Numbers) -> Option<String> {
    let whole = !text.contains(['.', 'e', 'E']);
    if whole && (numbers == Numbers::Peer || small(text)) {
        return Some(match text {
            "-0" => "0".to_owned(),
            _ => text.to_owned(),
        });
    }
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    if value == 0.0 {
        return Some("0".to_owned());
    }
    let mut buffer = zmij::Buffer::new();
    let (sign, digits, point) = decimal(buffer.format_finite(value));
    Some(print(sign, &digits, point, numbers))
}

/// Tells whether an integer is so short that a double holds it exactly.
fn small(text: &str) -> bool {
    text.len() <= 15
}

/// Splits a printed double into its sign, its digits and the place of the decimal point.
fn decimal(text: &str) -> (&'static str, String, i32) {
    let (sign, text) = text
        .strip_prefix('-')
        .map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let all = format!("{whole}{fraction}");
    let leading = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0').to_owned();
    let places = |length: usize| i32::try_from(length).unwrap_or(0);
    (
        sign,
        digits,
        places(whole.len()) - places(leading) + exponent,
    )
}

/// Puts the point at `point` digits from the left, as ECMAScript's `Number::toString` does.
fn print(sign: &str, digits: &str, point: i32, numbers: Numbers) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if count <= point && point <= 21 {
        return format!("{sign}{digits}{}", zeros(point - count));
    }
    if 0 < point && point <= 21 {
        let at = usize::try_from(point).unwrap_or(0);
        let (whole, fraction) = digits.split_at_checked(at).unwrap_or((digits, ""));
        return format!("{sign}{whole}.{fraction}");
    }
    if -6 < point && point <= 0 {
        return format!("{sign}0.{}{digits}", zeros(-point));
    }
    let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    let dot = if rest.is_empty() { "" } else { "." };
    let exponent = point - 1;
    match numbers {
        Numbers::Rfc8785 => format!("{sign}{first}{dot}{rest}e{exponent:+}"),
        Numbers::Peer => format!("{sign}{first}{dot}{rest}E{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_the_standard_says() {
        let check = |text: &str, rfc: Option<&str>, peer: Option<&str>| {
            assert_eq!(canonical(text, Numbers::Rfc8785).as_deref(), rfc, "{text}");
            assert_eq!(canonical(text, Numbers::Peer).as_deref(), peer, "{text}");
        };
        let same = |text: &str, expect: &str| check(text, Some(expect), Some(expect));
        same("0", "0");
        same("-0", "0");
        same("-0.0", "0");
        same("1.50", "1.5");
        same("1e3", "1000");
        same("-12.25e1", "-122.5");
        same("0.000001", "0.000001");
        same("333333333.3333333", "333333333.3333333");
        same("1e20", "100000000000000000000");
        same("999999999999999900000.0", "999999999999999900000");
        same("4.5", "4.5");
        same("2e-3", "0.002");
        check("1e-7", Some("1e-7"), Some("1E-7"));
        check("1e21", Some("1e+21"), Some("1E21"));
        check("1.5e+30", Some("1.5e+30"), Some("1.5E30"));
        check("5e-324", Some("5e-324"), Some("5E-324"));
        check(
            "1.7976931348623157e308",
            Some("1.7976931348623157e+308"),
            Some("1.7976931348623157E308"),
        );
        check(
            "9007199254740993",
            Some("9007199254740992"),
            Some("9007199254740993"),
        );
        check("1e400", None, None);
        check("-1e400", None, None);
    }

    #[test]
    fn ties_take_the_even_digit() {
        // RFC 8785, appendix B: doubles that lie exactly between two shortest spellings.
        let check = |bits: u64, expect: &str| {
            let text = format!("{:?}", f64::from_bits(bits));
            assert_eq!(canonical(&text, Numbers::Rfc8785).as_deref(), Some(expect));
        };
        check(0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22");
        check(0x44b5_2d02_c7e1_4af6, "1e+23");
        check(0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23");
        check(0x444b_1ae4_d6e2_ef4e, "999999999999999700000");
        check(0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7");
        check(0x3eb0_c6f7_a0b5_ed8d, "0.000001");
        check(0x43d0_0000_0000_0000, "4611686018427388000");
        check(0x3d10_0000_0000_0000, "1.4210854715202004e-14");
        check(0x4314_3ff3_c1cb_0959, "1424953923781206.2");
    }
}
