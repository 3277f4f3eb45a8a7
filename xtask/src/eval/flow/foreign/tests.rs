//! Every code is undone here by other means than it was made, or has a stated property.

use super::*;

const TEXTS: &[&str] = &["hunter2", "Zed 99, of 12 aaa\nbbb!", "x"];

fn check(code: impl Fn(&mut Random, &str) -> String, undo: impl Fn(&str) -> String) {
    for text in TEXTS {
        for seed in ["a", "b", "c", "d"] {
            let coded = code(&mut Random::named(seed), text);
            assert_eq!(undo(&coded), *text, "{coded}");
        }
    }
}

fn bare(text: &str) -> String {
    text.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|char| char.to_ascii_lowercase())
        .collect()
}

fn unspelled(coded: &str, table: &[(char, &str)]) -> String {
    let own = |word: &str| {
        table
            .iter()
            .find(|(_, other)| *other == word)
            .map(|(own, _)| *own)
    };
    coded.split(' ').filter_map(own).collect()
}

fn from_numbers(coded: &str, base: u32) -> String {
    let number = |part: &str| char::from(u8::from_str_radix(part, base).unwrap());
    let parts = coded
        .split(|char: char| !char.is_ascii_digit())
        .filter(|part| !part.is_empty());
    parts.map(number).collect()
}

fn from_base(coded: &str, alphabet: &str) -> String {
    let mut bytes: Vec<u32> = Vec::new();
    for char in coded.chars() {
        let mut carry = u32::try_from(alphabet.find(char).unwrap()).unwrap();
        for byte in &mut bytes {
            carry += *byte * u32::try_from(alphabet.len()).unwrap();
            *byte = carry & 255;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push(carry & 255);
            carry >>= 8;
        }
    }
    bytes
        .iter()
        .rev()
        .map(|byte| char::from_u32(*byte).unwrap())
        .collect()
}

#[test]
fn keyed_codes_are_undone_with_the_key() {
    let text = TEXTS[1];
    let coded = STANDARD
        .decode(xored(&mut Random::named("k"), text))
        .unwrap();
    let key = Random::named("k").bytes(7);
    let plain: Vec<u8> = coded
        .iter()
        .zip(key.iter().cycle())
        .map(|(a, b)| a ^ b)
        .collect();
    assert_eq!(plain, text.as_bytes());

    let mut order: Vec<char> = format!("{WORD}-_").chars().collect();
    Random::named("k").shuffle(&mut order);
    let alphabet = Alphabet::new(&order.iter().collect::<String>()).unwrap();
    let coded = custom_base64(&mut Random::named("k"), text);
    assert_eq!(
        GeneralPurpose::new(&alphabet, NO_PAD)
            .decode(coded)
            .unwrap(),
        text.as_bytes()
    );

    let coded = vigenere(&mut Random::named("k"), text);
    let key = Random::named("k").bytes(6);
    let back = |(char, key): (char, &u8)| match char.to_digit(10) {
        Some(digit) => ((digit + 9 - u32::from(key % 9)) % 10).to_string(),
        None => shifted(&char.to_string(), 25 - key % 25),
    };
    let back: String = coded.chars().zip(key.iter().cycle()).map(back).collect();
    assert_eq!(back, text);
}

#[test]
fn numbers_are_undone() {
    check(decimal, |coded| from_numbers(coded, 10));
    check(octal, |coded| from_numbers(coded, 8));
    check(binary, |coded| {
        let bits: String = coded.split(' ').collect();
        chunks(&bits, 8)
            .iter()
            .map(|byte| from_numbers(byte, 2))
            .collect()
    });
    let base58_letters = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    check(base58, |coded| from_base(coded, base58_letters));
    check(base36, |coded| {
        from_base(coded, "0123456789abcdefghijklmnopqrstuvwxyz")
    });
    check(utf16_base64, |coded| {
        let bytes = STANDARD.decode(coded).unwrap();
        let units: Vec<u16> = bytes
            .chunks(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect();
        String::from_utf16(&units).unwrap()
    });
}

#[test]
fn codes_that_are_published_are_as_published() {
    let random = &mut Random::named("a");
    assert_eq!(ascii85(random, "Man sure."), "<~9jqo^F*2M7/c~>");
    assert_eq!(base45(random, "ietf!"), "QED8WEX0");
    assert!(uuencoded(random, "Cat").contains("\n#0V%T\n"));
    assert_eq!(base58(random, "Hello World!"), "2NEpo7TZRRrLZSi2U");
    assert_eq!(rail_fence(random, "ABCDEFGH"), "AGBFHCED");
    assert_eq!(morse(random, "sos"), "... --- ...");
    assert_eq!(radio(random, "N7"), "November Seven");
    assert_eq!(run_lengths(random, "aab"), "2a1b");
    assert_eq!(complement(random, "A"), "be");
    assert_eq!(atbash(random, "az09"), "za90");
    assert_eq!(shifted_by_five(random, "az7"), "fe2");
    assert_eq!(emoji(random, "A"), "\u{1f441}");
}

#[test]
fn what_drops_case_or_signs_keeps_the_rest() {
    for text in TEXTS {
        let random = &mut Random::named("a");
        assert_eq!(unspelled(&morse(random, text), MORSE), bare(text));
        assert_eq!(unspelled(&radio(random, text), RADIO), bare(text));
        let first = |word: &str| word.chars().next().unwrap();
        let letters: String = acrostic(random, text)
            .replace(" times", "")
            .split_whitespace()
            .filter(|word| !NUMERALS.contains(word))
            .map(first)
            .collect();
        let expect: String = text.chars().filter(char::is_ascii_alphabetic).collect();
        assert_eq!(letters, expect);
        assert!(!vowels_removed(random, text).contains(['a', 'e', 'i', 'o', 'u']));
        assert_eq!(leet(random, text).chars().count(), text.chars().count());
    }
}

#[test]
fn what_moves_characters_loses_none() {
    let sorted = |text: &str| {
        let mut chars: Vec<char> = text.chars().filter(|char| !char.is_whitespace()).collect();
        chars.sort_unstable();
        chars
    };
    for text in TEXTS {
        let random = &mut Random::named("a");
        for code in [every_second, rail_fence, words_shuffled] {
            assert_eq!(sorted(&code(random, text)), sorted(text));
        }
        assert_eq!(
            decoys(random, text).chars().step_by(2).collect::<String>(),
            *text
        );
        let mut pieces: Vec<String> = chunks(text, 5)
            .iter()
            .map(|piece| piece.replace('\n', ""))
            .collect();
        pieces.retain(|piece| !pieces_out_of_order(random, text).contains(piece));
        assert!(text.contains('\n') || pieces.is_empty(), "{pieces:?}");
    }
}

#[test]
fn capitals_are_the_bits() {
    for text in TEXTS {
        let coded = capitals(&mut Random::named("a"), text);
        let letters = coded.chars().filter(char::is_ascii_alphabetic);
        let bits: String = letters
            .map(|char| if char.is_ascii_uppercase() { '1' } else { '0' })
            .collect();
        let plain: String = chunks(&bits, 8)
            .iter()
            .map(|byte| from_numbers(byte, 2))
            .collect();
        assert_eq!(plain, *text);
    }
}

#[test]
fn the_program_prints_the_text() {
    check(program, |code| {
        let code: Vec<char> = code.chars().collect();
        let (mut tape, mut at, mut here, mut out) = ([0_u8; 4], 0, 0, String::new());
        while let Some(sign) = code.get(here) {
            match sign {
                '+' => tape[at] = tape[at].wrapping_add(1),
                '-' => tape[at] = tape[at].wrapping_sub(1),
                '>' => at += 1,
                '<' => at -= 1,
                '.' => out.push(char::from(tape[at])),
                ']' if tape[at] != 0 => {
                    while code[here] != '[' {
                        here -= 1;
                    }
                }
                _ => {}
            }
            here += 1;
        }
        out
    });
}
