//! Punycode (RFC 3492) for single labels. Labels are short, so the plain algorithm will do.

const BASE: u32 = 36;
/// Longest label in either form.
const LONGEST: usize = 63;

/// The state that both directions share.
struct Bias {
    bias: u32,
    first: bool,
}

impl Bias {
    fn new() -> Self {
        Self {
            bias: 72,
            first: true,
        }
    }

    /// RFC 3492, 6.1.
    fn adapt(&mut self, delta: u32, points: u32) {
        let mut delta = if self.first { delta / 700 } else { delta / 2 };
        self.first = false;
        delta += delta / points.max(1);
        let mut steps = 0;
        while delta > (35 * 26) / 2 {
            delta /= 35;
            steps += BASE;
        }
        self.bias = steps + 36 * delta / (delta + 38);
    }

    fn threshold(&self, position: u32) -> u32 {
        position.saturating_sub(self.bias).clamp(1, 26)
    }
}

/// Decodes what stands behind `xn--`.
pub(super) fn decode(label: &str) -> Option<String> {
    let (basic, extended) = label.rsplit_once('-').unwrap_or(("", label));
    let mut out: Vec<char> = basic.chars().collect();
    if label.len() > LONGEST || !label.is_ascii() {
        return None;
    }
    let (mut point, mut index, mut bias) = (128_u32, 0_u32, Bias::new());
    let mut digits = extended.bytes().peekable();
    while digits.peek().is_some() {
        let before = index;
        let (mut weight, mut position) = (1_u32, BASE);
        loop {
            let digit = value(digits.next()?)?;
            index = index.checked_add(digit.checked_mul(weight)?)?;
            let threshold = bias.threshold(position);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
            position += BASE;
        }
        let length = u32::try_from(out.len() + 1).ok()?;
        bias.adapt(index - before, length);
        point = point.checked_add(index / length)?;
        index %= length;
        out.insert(usize::try_from(index).ok()?, char::from_u32(point)?);
        index += 1;
    }
    Some(out.into_iter().collect())
}

fn value(digit: u8) -> Option<u32> {
    match digit {
        b'a'..=b'z' => Some(u32::from(digit - b'a')),
        b'A'..=b'Z' => Some(u32::from(digit - b'A')),
        b'0'..=b'9' => Some(u32::from(digit - b'0') + 26),
        _ => None,
    }
}

/// Encodes a label that has letters beyond ASCII; nothing if it gets too long.
pub(super) fn encode(label: &str) -> Option<String> {
    let mut out: String = label.chars().filter(char::is_ascii).collect();
    let basic = u32::try_from(out.len()).ok()?;
    if label.chars().count() > LONGEST {
        return None;
    }
    if basic > 0 {
        out.push('-');
    }
    let (mut point, mut delta, mut done, mut bias) = (128_u32, 0_u32, basic, Bias::new());
    let total = u32::try_from(label.chars().count()).ok()?;
    while done < total {
        let next = label
            .chars()
            .map(u32::from)
            .filter(|code| *code >= point)
            .min()?;
        delta = delta.checked_add((next - point).checked_mul(done + 1)?)?;
        point = next;
        for code in label.chars().map(u32::from) {
            if code < point {
                delta = delta.checked_add(1)?;
            }
            if code == point {
                write(delta, &bias, &mut out);
                bias.adapt(delta, done + 1);
                delta = 0;
                done += 1;
            }
        }
        delta = delta.checked_add(1)?;
        point += 1;
    }
    (out.len() + 4 <= LONGEST).then_some(out)
}

fn write(delta: u32, bias: &Bias, out: &mut String) {
    let (mut rest, mut position) = (delta, BASE);
    loop {
        let threshold = bias.threshold(position);
        if rest < threshold {
            out.extend(char::from_digit_36(rest));
            return;
        }
        let digit = threshold + (rest - threshold) % (BASE - threshold);
        out.extend(char::from_digit_36(digit));
        rest = (rest - threshold) / (BASE - threshold);
        position += BASE;
    }
}

/// The digits of Punycode: letters before numbers.
trait Digit36 {
    fn from_digit_36(digit: u32) -> Option<char>;
}

impl Digit36 for char {
    fn from_digit_36(digit: u32) -> Option<char> {
        let code = if digit < 26 {
            u32::from(b'a') + digit
        } else {
            u32::from(b'0') + digit - 26
        };
        char::from_u32(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_go_both_ways() {
        let check = |plain: &str, code: &str| {
            assert_eq!(encode(plain).as_deref(), Some(code));
            assert_eq!(decode(code).as_deref(), Some(plain));
        };
        check("bücher", "bcher-kva");
        check("例え", "r8jz45g");
        check("аррӏе", "80ak6aa92e");
        check("mañana", "maana-pta");
        assert_eq!(decode("99999999"), None);
        assert_eq!(decode("é"), None);
    }
}
