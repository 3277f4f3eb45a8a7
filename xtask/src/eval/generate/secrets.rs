//! Secrets of the published forms with random values, in what carries them through MCP.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;

use crate::eval::case::{Case, Detector, Expect, Mark, Set};
use crate::eval::random::{Random, WORD};

/// Cases of each form.
const EACH: usize = 8;

/// Forms that stand for themselves; the places are those of `Random::fill`.
const TOKENS: &[(&str, &str)] = &[
    ("anthropic", "sk-ant-api03-{u93}AA"),
    ("openai_project", "sk-proj-{u74}T3BlbkFJ{u74}"),
    ("aws_key_id", "AKIA{t16}"),
    ("github_fine_grained", "github_pat_{w22}_{w59}"),
    ("gitlab", "glpat-{u20}"),
    ("slack_bot", "xoxb-{d12}-{d13}-{w24}"),
    (
        "slack_hook",
        "https://hooks.slack.com/services/T{A10}/B{A10}/{w24}",
    ),
    ("stripe_live", "sk_live_{w24}"),
    ("stripe_restricted", "rk_live_{w24}"),
    ("google_api", "AIzaSy{u33}"),
    ("sendgrid", "SG.{u22}.{u43}"),
    ("hugging_face", "hf_{l34}"),
    ("digitalocean", "dop_v1_{h64}"),
    ("shopify", "shpat_{h32}"),
    ("linear", "lin_api_{w40}"),
    ("notion", "ntn_{d11}{w35}"),
    ("vault", "hvs.{u95}"),
    ("databricks", "dapi{h32}"),
    ("telegram", "{d10}:AA{u33}"),
    ("grafana", "glsa_{w32}_{h8}"),
    ("postman", "PMAK-{h24}-{h34}"),
    ("new_relic", "NRAK-{A27}"),
    ("doppler", "dp.pt.{w43}"),
    ("figma", "figd_{u40}"),
    ("supabase", "sbp_{h40}"),
    ("groq", "gsk_{w52}"),
    ("replicate", "r8_{w37}"),
    ("docker_hub", "dckr_pat_{u27}"),
    ("rubygems", "rubygems_{h48}"),
    ("planetscale", "pscale_tkn_{u43}"),
    ("pulumi", "pul-{h40}"),
    ("tailscale", "tskey-auth-{w11}CNTRL-{w32}"),
    ("terraform", "{w14}.atlasv1.{u67}"),
    ("langsmith", "lsv2_pt_{h32}_{h10}"),
    ("brevo", "xkeysib-{h64}-{w16}"),
    ("square", "sq0atp-{u22}"),
];

/// Forms that only their surroundings tell: a line, whose part between `«` and `»` is the secret.
const LINES: &[(&str, &str)] = &[
    ("password", "password: «{w7}!{d3}{l4}»"),
    ("password_field", "\"db_password\": \"«{w6}-{w6}#{d2}»\""),
    ("env", "SESSION_SECRET=«{u32}»"),
    ("aws_secret", "aws_secret_access_key = «{b40}»"),
    ("bearer", "Authorization: Bearer «{u40}»"),
    ("api_key_header", "X-Api-Key: «{w32}»"),
    ("client_secret", "client_secret=«{u36}»"),
    ("postgres", "postgres://app:«{w14}»@db.internal:5432/orders"),
    (
        "mongodb",
        "mongodb+srv://svc:«{w16}»@cluster0.ab1cd.mongodb.net/prod",
    ),
    ("redis", "redis://:«{w20}»@cache.internal:6379/0"),
    ("amqp", "amqps://worker:«{w15}»@mq.internal/jobs"),
    (
        "url",
        "https://deploy:«{w18}»@git.corp.example/team/app.git",
    ),
    ("npmrc", "//npm.corp.example/:_authToken=«{u36}»"),
    (
        "azure_storage",
        "DefaultEndpointsProtocol=https;AccountName=store;AccountKey=«{b86}==»;EndpointSuffix=core.windows.net",
    ),
    ("cookie", "Set-Cookie: session_id=«{w40}»; HttpOnly; Secure"),
    ("mailgun", "MAILGUN_API_KEY=«key-{h32}»"),
    ("twilio", "twilio_auth_token: «{h32}»"),
    ("one_time_code", "Your verification code is «{d6}»."),
];

/// What carries a token, as a text that holds `{}` once.
const CARRIERS: &[&str] = &[
    "{\"content\":[{\"type\":\"text\",\"text\":\"config loaded, key {} in use\"}]}",
    "# deployment\nregion: eu-west-1\ntoken: {}\nreplicas: 2\n",
    "2026-04-02T08:11:09Z WARN retrying with credential {} after 503\n",
    "Hi, the new one is {} - please put it into the vault and delete this mail.",
    "const client = new Client({ key: '{}' });",
    "{\"name\":\"create_secret\",\"arguments\":{\"value\":\"{}\"}}",
    "export API_TOKEN={}\n./deploy.sh\n",
    "| name | value |\n|---|---|\n| service | {} |\n",
];

/// Lines around a secret that needs its surroundings.
const AROUND: &[(&str, &str)] = &[
    ("", ""),
    (
        "# settings of the staging system\nport: 8080\n",
        "\nworkers: 4\n",
    ),
    (
        "Here is what the container logs at start:\n\n",
        "\nlistening on :8080\n",
    ),
    (
        "curl -v https://api.corp.example/v1/orders\n> ",
        "\n> Accept: application/json\n",
    ),
];

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    let mut random = Random::named("secrets");
    let mut cases = Vec::new();
    for (name, form) in TOKENS {
        cases.extend((0..EACH).map(|number| {
            let secret = random.fill(form);
            in_carrier(&mut random, name, number, &secret)
        }));
    }
    for number in 0..EACH {
        for (name, secret) in made(&mut random) {
            cases.push(in_carrier(&mut random, name, number, &secret));
        }
    }
    for (name, form) in LINES {
        cases.extend((0..EACH).map(|number| in_line(&mut random, name, number, form)));
    }
    cases
}

fn in_carrier(random: &mut Random, name: &str, number: usize, secret: &str) -> Case {
    let carrier = random.pick(CARRIERS);
    let secret = if carrier.starts_with('{') {
        secret.replace('\n', "\\n")
    } else {
        secret.to_owned()
    };
    case(name, number, &carrier.replace("{}", &secret), &secret)
}

fn in_line(random: &mut Random, name: &str, number: usize, form: &str) -> Case {
    let (before, after) = random.pick(AROUND);
    let filled = random.fill(form);
    let secret = filled
        .split_once('«')
        .and_then(|(_, tail)| tail.split_once('»'));
    let secret = secret.map_or("", |(secret, _)| secret);
    let text = format!("{before}{}{after}", filled.replace(['«', '»'], ""));
    case(name, number, &text, secret)
}

fn case(name: &str, number: usize, text: &str, secret: &str) -> Case {
    let place = text.find(secret).map(|at| at..at + secret.len());
    Case {
        set: Set::Own,
        id: format!("own/secret/{name}/{number}"),
        source: "formats".to_owned(),
        question: json!({ "kind": "text", "text": text }),
        marks: vec![Mark {
            detector: Detector::Secrets,
            expect: Expect::Flagged(place),
        }],
    }
}

/// Secrets that have to be computed.
fn made(random: &mut Random) -> Vec<(&'static str, String)> {
    let mut key = |label: &str, start: &str, length: usize| {
        let body = format!("{start}{}", STANDARD.encode(random.bytes(length)));
        let lines = body.as_bytes().chunks(64).map(String::from_utf8_lossy);
        let lines = lines.collect::<Vec<_>>().join("\n");
        format!("-----BEGIN {label}-----\n{lines}\n-----END {label}-----")
    };
    let keys = vec![
        ("rsa_key", key("RSA PRIVATE KEY", "MIIEpAIBAAKCAQEA", 1180)),
        (
            "pkcs8_key",
            key("PRIVATE KEY", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", 1190),
        ),
        (
            "openssh_key",
            key("OPENSSH PRIVATE KEY", "b3BlbnNzaC1rZXktdjEAAAAA", 380),
        ),
    ];
    let mut made = keys;
    made.push(("github_classic", checked(random, "ghp_")));
    made.push(("github_oauth", checked(random, "gho_")));
    made.push(("npm", checked(random, "npm_")));
    made.push(("jwt", jwt(random)));
    let pair = format!("svc-build:{}", random.string(WORD, 16));
    made.push((
        "basic_auth",
        format!("Authorization: Basic {}", STANDARD.encode(pair)),
    ));
    made
}

fn jwt(random: &mut Random) -> String {
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let subject = random.string(WORD, 12);
    let head = part(json!({ "alg": "HS256", "typ": "JWT" }));
    let body = part(json!({ "sub": subject, "iat": 1_775_000_000, "scope": "read write" }));
    format!("{head}.{body}.{}", URL_SAFE_NO_PAD.encode(random.bytes(32)))
}

/// A token whose last six characters are the checksum of the thirty before.
fn checked(random: &mut Random, prefix: &str) -> String {
    const ORDER: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let body = random.string(WORD, 30);
    let mut left = crc32(body.as_bytes());
    let mut tail = Vec::new();
    for _ in 0..6 {
        let digit = usize::try_from(left % 62).unwrap_or(0);
        tail.extend(ORDER.get(digit).copied().map(char::from));
        left /= 62;
    }
    let tail: String = tail.into_iter().rev().collect();
    format!("{prefix}{body}{tail}")
}

/// The usual checksum of 32 bits.
pub(in crate::eval) fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
