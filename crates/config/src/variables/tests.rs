//! References and what they become.

use super::*;

fn check(text: &str, expect: Result<&str, &str>) {
    let environment = |name: &str| match name {
        "HOST" => Some("example.com".to_owned()),
        "EMPTY" => Some(String::new()),
        "NESTED" => Some("${HOST}".to_owned()),
        _ => None,
    };
    let mut node = Node::text(text, Place::Nowhere);
    let mut report = Report::default();
    resolve(
        &mut node,
        &Path::default(),
        &Texts::default(),
        &environment,
        &mut report,
    );
    let found = match (&node.value, report.finish()) {
        (Value::Text(text), Ok(())) => Ok(text.clone()),
        (_, Err(problems)) => Err(problems
            .iter()
            .map(|p| p.message.clone())
            .collect::<Vec<_>>()
            .join("; ")),
        (_, Ok(())) => Err("no text".to_owned()),
    };
    assert_eq!(
        found,
        expect.map(str::to_owned).map_err(str::to_owned),
        "{text}"
    );
}

#[test]
fn references() {
    check("plain", Ok("plain"));
    check("$HOME and $5", Ok("$HOME and $5"));
    check("https://${HOST}/mcp", Ok("https://example.com/mcp"));
    check("${HOST}${HOST}", Ok("example.comexample.com"));
    check("$${HOST}", Ok("${HOST}"));
    check("$$${HOST}", Ok("$${HOST}"));
    check("${NESTED}", Ok("${HOST}"));
    check("${EMPTY}", Ok(""));
    check("${EMPTY:-default}", Ok("default"));
    check("${NONE:-}", Ok(""));
    check("${NONE:-a b}", Ok("a b"));
    check("${NONE}", Err("environment variable `NONE` is not set"));
    check(
        "${A} ${B}",
        Err("environment variable `A` is not set; environment variable `B` is not set"),
    );
    check("${HOST", Err("`${` without `}`"));
    check(
        "${}",
        Err("`${}` is no reference to an environment variable"),
    );
    check(
        "${env:HOST}",
        Err("`${env:HOST}` is no reference to an environment variable"),
    );
}

#[test]
fn expansion_is_bounded() {
    let environment = |_: &str| Some("x".repeat(1 << 20));
    let mut node = Node::text("${X}".repeat(1000), Place::Nowhere);
    let mut report = Report::default();
    resolve(
        &mut node,
        &Path::default(),
        &Texts::default(),
        &environment,
        &mut report,
    );
    let problems = report.finish().unwrap_err();
    assert_eq!(
        problems.to_string(),
        "environment references expand to more than 4194304 bytes"
    );
}
