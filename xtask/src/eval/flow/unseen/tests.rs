//! Every code is undone here by other means than it was made.

use super::*;

const TEXTS: &[&str] = &[
    "hunter2",
    "Zed 99, of 12 aaa\nbbb!",
    "x",
    "a longer text, of 41 signs and 3 commas,",
];

fn check(code: fn(&mut Random, &str) -> String, undo: impl Fn(&str) -> String) {
    for text in TEXTS {
        let coded = code(&mut Random::named("a"), text);
        assert_eq!(undo(&coded), *text, "{coded}");
        assert_ne!(coded, *text);
    }
}

fn bytes(coded: &str) -> Vec<u8> {
    let digits: String = coded.chars().filter(char::is_ascii_hexdigit).collect();
    chunks(&digits, 2)
        .iter()
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap()
        .trim_end_matches('\0')
        .to_owned()
}

#[test]
fn shapes_of_hexadecimal_are_undone() {
    for code in [identifiers, addresses, colours] {
        check(code, |coded| text(bytes(coded)));
    }
    check(nibbles, |coded| {
        text(
            bytes(coded)
                .iter()
                .map(|byte| byte.rotate_right(4))
                .collect(),
        )
    });
    let one = identifiers(&mut Random::named("a"), "0123456789abcdef");
    assert_eq!(one, "30313233-3435-3637-3839-616263646566");
    let one = addresses(&mut Random::named("a"), "x");
    assert_eq!(one, "7800:0000:0000:0000:0000:0000:0000:0000");
    assert_eq!(colours(&mut Random::named("a"), "abcd"), "#616263, #640000");
}

#[test]
fn numbers_are_undone() {
    check(braille, |coded| {
        coded
            .chars()
            .map(|char| char::from_u32(u32::from(char) - 0x2800).unwrap())
            .collect()
    });
    check(rotated, |coded| {
        let bytes = STANDARD_NO_PAD.decode(coded).unwrap();
        text(bytes.iter().map(|byte| byte.rotate_right(3)).collect())
    });
    check(differences, |coded| {
        let mut at = 0_i16;
        let step = |step: &str| {
            at += step.parse::<i16>().unwrap();
            u8::try_from(at).unwrap()
        };
        text(coded.split(' ').map(step).collect())
    });
    check(places, |coded| {
        let degrees = coded.split([';', ',']);
        let code = |degree: &str| format!("{:.0}", degree.trim().parse::<f64>().unwrap() * 4.0);
        text(
            degrees
                .map(|degree| code(degree).parse().unwrap())
                .collect(),
        )
    });
}

#[test]
fn words_are_undone() {
    check(shopping, |coded| {
        let value = |good: &str| GOODS.iter().position(|own| *own == good).unwrap();
        let values: Vec<usize> = coded.split(", ").map(value).collect();
        text(
            values
                .chunks(2)
                .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap())
                .collect(),
        )
    });
    // The example that the inventor of these words published.
    let address = String::from_utf8(vec![63, 118, 7, 35]).unwrap();
    assert_eq!(syllables(&mut Random::named("a"), &address), "gutuk-bisog");
    assert_eq!(
        pig_latin(&mut Random::named("a"), "pay the bill"),
        "aypay hetay illbay"
    );
}

#[test]
fn letters_are_undone() {
    check(neighbours, |coded| {
        let left = |char: char| {
            let low = char.to_ascii_lowercase();
            let row = KEYS.iter().find(|row| row.contains(low))?;
            let keys: Vec<char> = row.chars().collect();
            let at = keys.iter().position(|key| *key == low)?;
            let key = keys[(at + keys.len() - 1) % keys.len()];
            Some(if char == low {
                key
            } else {
                key.to_ascii_uppercase()
            })
        };
        coded
            .chars()
            .map(|char| left(char).unwrap_or(char))
            .collect()
    });
    let plain = "the quick brown fox jumps over it";
    let coded: Vec<char> = columns(&mut Random::named("a"), plain).chars().collect();
    let mut back = vec![' '; plain.len()];
    let order = (0..7).flat_map(|first| (first..plain.len()).step_by(7));
    for (char, at) in coded.into_iter().zip(order) {
        back[at] = char;
    }
    assert_eq!(back.iter().collect::<String>(), plain);
    let pairs = square(&mut Random::named("a"), "a9");
    assert_eq!(pairs, "25 24");
}
