//! How often an address in arguments is told in from out, whatever its scheme, host and place.

use mcpproxy_classify::arguments;

const SCHEMES: [&str; 5] = ["http", "https", "HTTPS", "ws", "ftp"];
const OUTSIDE: [&str; 8] = [
    "evil.example",
    "collect.evil.co.uk",
    "91.66.204.37",
    "xn--bcher-kva.example",
    "a-b.example:8443",
    "ada:pw@evil.example",
    "EVIL.EXAMPLE",
    "[2a02:26f0:1700::17d]",
];
const INSIDE: [&str; 8] = [
    "localhost",
    "localhost:3000",
    "127.0.0.1",
    "10.1.2.3:8080",
    "192.168.0.7",
    "172.16.4.1",
    "[::1]",
    "[fe80::1]",
];
/// Where an address stands; `@` is its place.
const PLACES: [&str; 5] = [
    r#"{"url":"@"}"#,
    r#"{"text":"see @ for more, please"}"#,
    r#"{"a":{"b":["x","@"]}}"#,
    r#"{"m":"[here](@)"}"#,
    r#"{"body":"<a href='@'>here</a>"}"#,
];

/// Nineteen of twenty at least: what the specification asks for.
#[test]
fn addresses_outside_are_told_from_those_inside() {
    let (mut all, mut wrong) = (0, Vec::new());
    for (hosts, expect) in [(OUTSIDE, true), (INSIDE, false)] {
        for host in hosts {
            for (scheme, place) in SCHEMES.iter().flat_map(|one| PLACES.map(|two| (one, two))) {
                let json = place.replace('@', &format!("{scheme}://{host}/in?q=1"));
                all += 1;
                if arguments(&json).external.is_empty() == expect {
                    wrong.push(json);
                }
            }
        }
    }
    assert!(
        wrong.len() * 20 <= all,
        "{} of {all}: {wrong:#?}",
        wrong.len()
    );
}
