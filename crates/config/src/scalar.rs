//! What an unquoted scalar means: the core schema of YAML 1.2, which JSON's words and numbers are
//! part of.

use crate::node::Value;

/// Returns the value of an unquoted scalar.
pub(crate) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => integer(text)
            .map(Value::Integer)
            .or_else(|| float(text).map(Value::Float))
            .unwrap_or_else(|| Value::Text(text.to_owned())),
    }
}

/// Reads a whole number: decimal with a sign, or octal or hexadecimal without.
pub(crate) fn integer(text: &str) -> Option<i128> {
    if let Some(digits) = text.strip_prefix("0x") {
        return plain(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return plain(digits, 8);
    }
    match text.strip_prefix('-') {
        Some(digits) => plain(digits, 10).map(|number| -number),
        None => plain(text.strip_prefix('+').unwrap_or(text), 10),
    }
}

fn plain(digits: &str, radix: u32) -> Option<i128> {
    let all = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    if all {
        i128::from_str_radix(digits, radix).ok()
    } else {
        None
    }
}

/// Reads a number with a fraction or an exponent, an infinity or a not-a-number.
fn float(text: &str) -> Option<f64> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match unsigned {
        ".inf" | ".Inf" | ".INF" => f64::INFINITY,
        ".nan" | ".NaN" | ".NAN" => f64::NAN,
        // Rust also reads `inf`, `nan` and `infinity`, which are texts here.
        _ if unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            unsigned.parse().ok()?
        }
        _ => return None,
    };
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let shown = match resolve(text) {
            Value::Null => "null".to_owned(),
            Value::Bool(flag) => format!("bool {flag}"),
            Value::Integer(number) => format!("int {number}"),
            Value::Float(number) => format!("float {number}"),
            Value::Text(text) => format!("text {text}"),
            Value::List(_) | Value::Map(_) | Value::Removed => "no scalar".to_owned(),
        };
        assert_eq!(shown, expect, "{text}");
    }

    #[test]
    fn core_schema() {
        check("", "null");
        check("~", "null");
        check("True", "bool true");
        check("yes", "text yes");
        check("on", "text on");
        check("007", "int 7");
        check("-12", "int -12");
        check("+12", "int 12");
        check("0x1F", "int 31");
        check("0o17", "int 15");
        check("0x", "text 0x");
        check("+", "text +");
        check("1_000", "text 1_000");
        check("1.50", "float 1.5");
        check("-1e3", "float -1000");
        check("-.inf", "float -inf");
        check("inf", "text inf");
        check("10s", "text 10s");
        check("1.2.3", "text 1.2.3");
        check(
            "99999999999999999999999999999999999999999999",
            "float 100000000000000000000000000000000000000000000",
        );
        check("12:30", "text 12:30");
    }
}
