//! Tokens in tables, and keys over time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use mcpproxy_core::Wall;
use mcpproxy_testkit::FixedClock;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};

use super::{OauthSettings, Refused, ResourceServer};

/// A key pair of RSA that nobody has kept: its modulus, and two tokens that it signed for `ada`.
const RSA: &str = "wNsig30adgWghuG6mCjz41nxZSyu-Dhws4pXloCHPAyQDkm1GjdxAp41QCIs7vo6vrtisAlUq0ihDUqdK5eQBC-VFfHOKtjJmQ5FzQWwyTTi600pJZYyTIQR1x0SGGQ6LralLwXzD77UQcezv_dXsae7-fZG35lByQrI0oAL3BqwKf4DuHI9hC53jiWqEcNwvozkfUwo2-sIvqSePTvSN9LUFBQ2oC9gmmtBJfJbS6rwdq4PIhd0lbNGlupahkBX4OKYfNxO4lmnGVgNg9apPYGlR_Zp_Do1pDrU0nbnVm56rrND8D64ysFZlIz9v-OZgeVYYGVyOoIp-gvY1n-eWw";
const RS256: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6InIxIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQiOiJnYXRlIiwic3ViIjoiYWRhIiwiZXhwIjo0MTAyNDQ0ODAwfQ.gQCVpS9ROlNNCGeDVtix2_Osb4cSxsaF1Y456AEERst5w40qquRrHynzC25LnEMMtsXep9ZKUI3Jj2BDS0_fkblAyFiR_lU1mBSTOPiTij-S2rVTShdsQhYKHqv3wLEuo0tCa04GCO-dF_XkPDHnCpJYm0RQz9Z4hVCkh66_NMuUszNMTH9w8gpboCfTir_f2UuzTDvcozDE41f0RxapWWP9PJr0pSiTyCgDqC_vOoVBOtup9QV29C4NJRIMEYSQziiNyLvkrtF-haSnrQb6zBZxALnGtbonXnGVP-ssLEi_vJ2BIrJtuYgNtHP4fDI8yHgvdiAa-tKqNjuriI8Odg";
const PS256: &str = "eyJhbGciOiJQUzI1NiIsImtpZCI6InIxIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQiOiJnYXRlIiwic3ViIjoiYWRhIiwiZXhwIjo0MTAyNDQ0ODAwfQ.vxYKhXYfxE9Y0yJLPeanppUcCHr9cmcFH_NIo_C5Jth2HLY3TNew0Ls6BFZ7acrXxh4uSM06QGpAnNzu-CRyEM59Gcxrzg2CSf-LgCasa44hUTMYbX8NkTlLlIl_upkNtBG940K1X_lzLPqUPQIF8WdbXb_mT4hJola7X1_JIL5W_H9zl5P6kzapUCQ3wHzHhuQ5DfROQwx7c4DBSeNs9_-7GeH-pF8AAAZfw6eOpWZ71m8tqm-eEL2c9_E7Crx2gRzn29ENR7DPubOy1v2Sh5Pq86KfubvhIP4skNMlp_S772Eee7arYtjPgk7szYI_sUbTNSeQ2Fd2tZr1k1ZpEQ";

/// The time at which tests begin, in seconds.
const NOW: u64 = 1_800_000_000;

fn ed(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

fn published(id: &str, seed: u8) -> Value {
    let x = BASE64.encode(ed(seed).public_key());
    json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": x })
}

fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| BASE64.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// A token signed by the key of this seed.
fn signed(header: &Value, claims: &Value, seed: u8) -> String {
    let text = unsigned(header, claims);
    let signature = BASE64.encode(ed(seed).sign(text.as_bytes()));
    format!("{text}.{signature}")
}

fn header() -> Value {
    json!({ "alg": "EdDSA", "kid": "a", "typ": "at+jwt" })
}

fn claims() -> Value {
    json!({
        "iss": "https://id.example", "aud": "gate", "sub": "ada", "exp": NOW + 300,
        "scope": "mcp:use mcp:read", "realm": { "roles": ["reader", "writer"] },
        "team": "blue", "level": 3, "photo": { "large": true },
    })
}

/// The same with other members; a null takes one out.
fn with(mut value: Value, more: &Value) -> Value {
    let members = value.as_object_mut().unwrap();
    for (name, value) in more.as_object().unwrap() {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    value
}

struct Rig {
    folder: tempfile::TempDir,
    clock: Arc<FixedClock>,
    server: ResourceServer,
}

impl Rig {
    fn new(keys: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys.json");
        publish(&file, keys);
        let settings = json!({
            "issuer": "https://id.example", "audience": "gate", "jwks_file": file,
            "required_scopes": [], "roles_claim": "realm.roles",
            "attribute_claims": ["team", "level", "photo", "absent"],
        });
        let settings: OauthSettings = serde_json::from_value(settings).unwrap();
        let clock = Arc::new(FixedClock::at(Wall(NOW * 1000)));
        let server = ResourceServer::new(settings, Arc::clone(&clock) as _);
        Self {
            folder,
            clock,
            server,
        }
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("keys.json")
    }

    async fn admit(&self, token: &str) -> Result<String, Refused> {
        let admitted = self.server.admit(token, None).await;
        admitted.map(|who| who.name.to_string())
    }
}

fn publish(file: &Path, keys: &Value) {
    std::fs::write(file, json!({ "keys": keys }).to_string()).unwrap();
}

#[tokio::test]
async fn a_good_token_names_its_holder() {
    let rig = Rig::new(&json!([published("a", 1)]));
    let who = rig
        .server
        .admit(&signed(&header(), &claims(), 1), None)
        .await;
    let who = who.unwrap();
    assert_eq!(&*who.name, "oauth:https://id.example#ada");
    let claims = who.claims.unwrap();
    assert_eq!(claims.subject, "ada");
    assert_eq!(claims.roles, ["reader", "writer"]);
    assert_eq!(claims.scopes, ["mcp:use", "mcp:read"]);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        claims.attributes,
        [pair("team", "blue"), pair("level", "3")]
    );
    assert_eq!(claims.until.unwrap().0, (NOW + 330) * 1000);
}

#[tokio::test]
async fn what_is_wrong_with_a_token_is_said() {
    let rig = Rig::new(&json!([published("a", 1), published("b", 2)]));
    let check = async |token: &str, expect: &str| {
        let found = rig.admit(token).await.unwrap_err();
        let Refused::Invalid(found) = found else {
            panic!("{found:?}");
        };
        assert!(found.contains(expect), "{found}, not {expect}");
    };
    let claimed = |more: &Value| signed(&header(), &with(claims(), more), 1);
    check(
        &claimed(&json!({ "iss": "https://evil.example" })),
        "another issuer",
    )
    .await;
    check(&claimed(&json!({ "iss": null })), "another issuer").await;
    check(&claimed(&json!({ "aud": "other" })), "not made for this").await;
    check(
        &claimed(&json!({ "aud": ["other", "gateway"] })),
        "not made for this",
    )
    .await;
    check(&claimed(&json!({ "aud": null })), "not made for this").await;
    check(&claimed(&json!({ "exp": NOW - 31 })), "expired").await;
    check(&claimed(&json!({ "exp": null })), "when it ends").await;
    check(&claimed(&json!({ "exp": "tomorrow" })), "no time").await;
    check(&claimed(&json!({ "exp": -5 })), "no time").await;
    check(&claimed(&json!({ "nbf": NOW + 31 })), "not valid yet").await;
    check(&claimed(&json!({ "sub": null })), "names nobody").await;
    check(&claimed(&json!({ "sub": "" })), "names nobody").await;
    check(&claimed(&json!({ "sub": "a\nb" })), "names nobody").await;
    check(&claimed(&json!({ "realm": { "roles": [1] } })), "no names").await;
    check(&claimed(&json!({ "scope": 7 })), "no names").await;
    check(&claimed(&json!({ "team": "x".repeat(300) })), "too long").await;

    let headed = |more: &Value| signed(&with(header(), more), &claims(), 1);
    check(&headed(&json!({ "alg": "none" })), "not signed in a way").await;
    check(&headed(&json!({ "alg": "HS256" })), "not signed in a way").await;
    check(&headed(&json!({ "alg": null })), "not signed in a way").await;
    check(&headed(&json!({ "alg": "ES256" })), "key that is not known").await;
    check(&headed(&json!({ "kid": "c" })), "key that is not known").await;
    check(&headed(&json!({ "kid": "b" })), "signature").await;
    // Without a name it could be either key.
    check(&headed(&json!({ "kid": null })), "key that is not known").await;
    check(&headed(&json!({ "kid": 7 })), "names no key").await;
    check(&headed(&json!({ "crit": ["b64"] })), "extensions").await;
    check(&headed(&json!({ "typ": "dpop+jwt" })), "no access token").await;

    check(&signed(&header(), &claims(), 9), "signature").await;
    check(&format!("{}.", unsigned(&header(), &claims())), "signature").await;
    let none = json!({ "alg": "none" });
    check(
        &format!("{}.", unsigned(&none, &claims())),
        "not signed in a way",
    )
    .await;
    let twice = BASE64.encode(r#"{"alg":"EdDSA","kid":"a","alg":"none"}"#);
    check(&format!("{twice}.e30.AA"), "no token").await;
    check("a.b.c", "no token").await;
    check("..", "no token").await;
    check(&"a".repeat(20_000), "too long").await;
}

/// A token that is bound to a certificate is good only together with it (RFC 8705, section 3).
#[tokio::test]
async fn a_bound_token_is_taken_only_with_its_certificate() {
    let rig = Rig::new(&json!([published("a", 1)]));
    let check = async |bound: Value, shown: Option<&str>, expect: bool| {
        let token = signed(&header(), &with(claims(), &json!({ "cnf": bound })), 1);
        let found = rig.server.admit(&token, shown).await;
        assert_eq!(found.is_ok(), expect, "{bound} {shown:?} {found:?}");
    };
    let bound = json!({ "x5t#S256": "abc" });
    check(bound.clone(), Some("abc"), true).await;
    check(bound.clone(), Some("abd"), false).await;
    check(bound, None, false).await;
    check(json!({ "jkt": "abc" }), Some("abc"), false).await;
    check(json!({ "x5t#S256": 7 }), Some("abc"), false).await;
    check(json!("abc"), Some("abc"), false).await;
    check(Value::Null, Some("abc"), true).await;
    check(Value::Null, None, true).await;
}

/// The time allows for clocks that differ, and times may have fractions.
#[tokio::test]
async fn what_is_nearly_in_time_is_taken() {
    let rig = Rig::new(&json!([published("a", 1)]));
    let check = async |more: Value| {
        let token = signed(&header(), &with(claims(), &more), 1);
        assert!(rig.admit(&token).await.is_ok(), "{more}");
    };
    check(json!({ "exp": NOW - 29 })).await;
    check(json!({ "exp": 1_800_000_300.5 })).await;
    check(json!({ "nbf": NOW + 29 })).await;
    check(json!({ "aud": ["other", "gate"] })).await;
    check(json!({ "scope": null, "scp": ["mcp:use"] })).await;
    check(json!({ "realm": { "roles": "reader writer" } })).await;
}

#[tokio::test]
async fn every_kind_of_key_verifies_and_only_what_it_is_for() {
    let random = SystemRandom::new();
    let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, pair.as_ref(), &random).unwrap();
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let elliptic = json!({
        "kty": "EC", "crv": "P-256", "kid": "e",
        "x": BASE64.encode(x), "y": BASE64.encode(y),
    });
    let rsa = json!({ "kty": "RSA", "kid": "r1", "n": RSA, "e": "AQAB" });
    let shared = json!({ "kty": "oct", "kid": "s", "k": RSA });
    let rig = Rig::new(&json!([elliptic, rsa, shared, { "kty": "XYZ" }, 7]));
    let text = unsigned(&json!({ "alg": "ES256", "kid": "e" }), &claims());
    let signature = pair.sign(&random, text.as_bytes()).unwrap();
    let token = format!("{text}.{}", BASE64.encode(signature));
    for token in [token.as_str(), RS256, PS256] {
        assert!(rig.admit(token).await.is_ok(), "{token}");
    }
    let mut broken = RS256.to_owned();
    broken.replace_range(60..61, "Q");
    assert!(rig.admit(&broken).await.is_err());
    // A key that is for encryption, or for another algorithm, verifies nothing.
    for more in [
        json!({ "use": "enc" }),
        json!({ "alg": "PS256" }),
        json!({ "key_ops": ["sign"] }),
    ] {
        let rsa = json!({ "kty": "RSA", "kid": "r1", "n": RSA, "e": "AQAB" });
        let rig = Rig::new(&json!([with(rsa, &more), published("a", 1)]));
        assert!(rig.admit(RS256).await.is_err(), "{more}");
    }
}

#[tokio::test]
async fn a_scope_that_is_required_and_missing_is_not_an_invalid_token() {
    let mut rig = Rig::new(&json!([published("a", 1)]));
    rig.server.settings.required_scopes = vec!["mcp:use".to_owned(), "mcp:admin".to_owned()];
    let token = signed(&header(), &claims(), 1);
    assert_eq!(rig.admit(&token).await, Err(Refused::Insufficient));
    rig.server.settings.required_scopes.pop();
    assert!(rig.admit(&token).await.is_ok());
}

#[tokio::test]
async fn new_keys_are_looked_for_now_and_then_however_many_ask() {
    let rig = Rig::new(&json!([published("a", 1)]));
    let old = signed(&header(), &claims(), 1);
    let new = signed(&with(header(), &json!({ "kid": "b" })), &claims(), 2);
    let unknown = Err(Refused::Invalid(
        "the token is signed with a key that is not known",
    ));
    assert!(rig.admit(&old).await.is_ok());
    publish(&rig.file(), &json!([published("b", 2)]));
    // They were fetched just now: a flood of tokens with other keys fetches nothing.
    for _ in 0..100 {
        assert_eq!(rig.admit(&new).await, unknown);
    }
    rig.clock.advance(Duration::from_secs(11));
    assert!(rig.admit(&new).await.is_ok());
    assert_eq!(rig.admit(&old).await, unknown);
}

#[tokio::test]
async fn without_the_issuer_old_keys_are_used_for_a_while_and_then_nobody_comes_in() {
    let rig = Rig::new(&json!([published("a", 1)]));
    let later = json!({ "exp": NOW + 10_000 });
    let token = signed(&header(), &with(claims(), &later), 1);
    assert!(rig.admit(&token).await.is_ok());
    std::fs::remove_file(rig.file()).unwrap();
    rig.clock.advance(Duration::from_mins(59));
    assert!(rig.admit(&token).await.is_ok());
    rig.clock.advance(Duration::from_mins(2));
    assert_eq!(rig.admit(&token).await, Err(Refused::Unverifiable));
    publish(&rig.file(), &json!([published("a", 1)]));
    rig.clock.advance(Duration::from_secs(11));
    assert!(rig.admit(&token).await.is_ok());
}
