//! Tables for what is hidden and what is not.

use super::*;
use crate::format::Format;

#[test]
fn addresses() {
    let check = |url: &str, expect: &str| assert_eq!(mask_url(url), expect, "{url}");
    check("https://api.example.com/mcp", "https://api.example.com/mcp");
    check(
        "https://ada:pw@example.com/mcp?key=abc&x",
        "https://***@example.com/mcp?key=***&***",
    );
    check(
        "https://a.example/mcp/s3cr3tK3y0123456789/sse",
        "https://a.example/mcp/***/sse",
    );
    check("npx", "npx");
}

#[test]
fn arguments() {
    let check = |args: &[&str], expect: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        assert_eq!(mask_args(&args), expect);
    };
    check(&["-y", "@org/pkg@1.2.3"], &["-y", "@org/pkg@1.2.3"]);
    check(
        &["--api-key", "abc", "--port", "80"],
        &["--api-key", "***", "--port", "80"],
    );
    check(&["--token=abc"], &["--token=***"]);
    check(&["-e", "NAME=value"], &["-e", "NAME=***"]);
    check(&["--header", "X-Any: value"], &["--header", "X-Any:***"]);
    check(
        &["--header", "Authorization: Bearer ${T}"],
        &["--header", "Authorization: Bearer ${T}"],
    );
    check(&["ghp_0123456789abcdef"], &["***"]);
    check(
        &["http://127.0.0.1:8080/mcp"],
        &["http://127.0.0.1:8080/mcp"],
    );
}

#[test]
fn words() {
    let check = |word: &str, expect: bool| assert_eq!(looks_secret(word), expect, "{word}");
    check("sk-ant-abcdefghijkl", true);
    check("0123456789abcdef0123", true);
    check("6f1c2d3e-0000-4000-8000-0123456789ab", true);
    check("claude-opus-4-5-20251101", false);
    check("server-filesystem", false);
    check("my-mcp-server-6801ea17", false);
    check("disabledMcpServers", false);
}

#[test]
fn texts() {
    let check = |format: Format, text: &str, expect: &str| {
        let root = format.parse(text).ok().unwrap();
        assert_eq!(mask_text(text, &root), expect);
    };
    check(
        Format::Jsonc,
        r#"{"env": {"A": "b\"c", "N": 1, "R": "${R}", "D": "${R:-d}"}, "primaryApiKey": "k", "u": "https://x/?t=1"} // ghp_0123456789abcdef"#,
        r#"{"env": {"A": "***", "N": ***, "R": "${R}", "D": "***"}, "primaryApiKey": "***", "u": "https://x/?t=***"} // ***"#,
    );
    check(
        Format::Toml,
        "[m.a.env]\nA = 'b' # c\n[m.b]\nbearer_token = \"x\"\nbearer_token_env_var = \"V\"\nargs = [\"--token\", \"x\"]\n",
        "[m.a.env]\nA = '***' # c\n[m.b]\nbearer_token = \"***\"\nbearer_token_env_var = \"V\"\nargs = [\"--token\", \"***\"]\n",
    );
    check(
        Format::Yaml,
        "e:\n  a:\n    envs:\n      é: plain # c\n      B: \"q\"\n    name: x\n",
        "e:\n  a:\n    envs:\n      é: *** # c\n      B: \"***\"\n    name: x\n",
    );
}
