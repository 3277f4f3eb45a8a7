//! Pins against real TLS on this machine.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Method};
use rcgen::{CertifiedKey, PublicKeyData as _, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::dial::Dialer;

fn identity() -> CertifiedKey<rcgen::KeyPair> {
    generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

fn pin(identity: &CertifiedKey<rcgen::KeyPair>) -> Pin {
    Pin::of(&identity.signing_key.subject_public_key_info())
}

/// Answers everybody over TLS with a certificate that shows `shown` and a signature of `signing`.
async fn serve(shown: &CertifiedKey<rcgen::KeyPair>) -> SocketAddr {
    let key = PrivatePkcs8KeyDer::from(shown.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![shown.cert.der().clone()], key.into())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut head = [0; 4096];
            if stream.read(&mut head).await.is_ok() {
                let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
                drop(stream.write_all(answer).await);
                drop(stream.shutdown().await);
            }
        }
    });
    address
}

async fn reached(dialer: &Dialer, address: SocketAddr) -> Result<u16, String> {
    let uri = format!("https://localhost:{}/", address.port());
    let uri = uri.parse().unwrap();
    let sent = dialer.send(Method::GET, &uri, HeaderMap::new(), Bytes::new());
    let answered = sent.await.map_err(|fault| fault.to_string())?;
    Ok(answered.status().as_u16())
}

#[tokio::test]
async fn only_the_pinned_key_is_let_in() {
    let (ours, other) = (identity(), identity());
    let address = serve(&ours).await;
    let check = async |pins: Vec<Pin>, chain: Chain, expect: Result<u16, &str>| {
        let found = reached(&Dialer::pinned(pins, chain).unwrap(), address).await;
        match expect {
            Ok(status) => assert_eq!(found, Ok(status)),
            Err(part) => assert!(found.clone().unwrap_err().contains(part), "{found:?}"),
        }
    };
    let both = vec![pin(&other), pin(&ours)];
    check(vec![pin(&ours)], Chain::Unchecked, Ok(204)).await;
    check(both, Chain::Unchecked, Ok(204)).await;
    let refused = Err("invalid peer certificate");
    check(vec![pin(&other)], Chain::Unchecked, refused).await;
    check(Vec::new(), Chain::Unchecked, refused).await;
    // The pin comes in addition to the chain, which this certificate does not have.
    check(vec![pin(&ours)], Chain::Checked, refused).await;
    let plain = reached(&Dialer::default(), address).await;
    assert!(plain.is_err(), "{plain:?}");
}

#[test]
fn an_authority_s_word_is_not_enough_without_the_key() {
    let (ours, other) = (identity(), identity());
    let check = |trusted: &CertifiedKey<rcgen::KeyPair>, pinned: Pin, expect: bool| {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.cert.der().clone()).unwrap();
        let verifier = Pinned {
            pins: vec![pinned],
            chain: Some(authorities(roots).unwrap()),
            algorithms: ring::default_provider().signature_verification_algorithms,
        };
        let name = ServerName::try_from("localhost").unwrap();
        let shown = ours.cert.der();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_hours(500_000));
        let found = verifier.verify_server_cert(shown, &[], &name, &[], now);
        assert_eq!(found.is_ok(), expect, "{found:?}");
    };
    check(&ours, pin(&ours), true);
    check(&ours, pin(&other), false);
    check(&other, pin(&ours), false);
}

#[tokio::test]
async fn a_pinned_peer_is_not_spoken_to_without_tls() {
    let dialer = Dialer::pinned(vec![pin(&identity())], Chain::Unchecked).unwrap();
    let uri = "http://127.0.0.1:9/".parse().unwrap();
    let sent = dialer.send(Method::GET, &uri, HeaderMap::new(), Bytes::new());
    assert!(sent.await.is_err());
}

#[test]
fn a_pin_is_read_as_it_is_printed() {
    let pin = pin(&identity());
    assert_eq!(Pin::read(&pin.to_string()), Some(pin));
    for wrong in [
        "",
        "sha256/",
        "sha256/AAAA",
        "sha1/AAAA",
        pin.to_string().trim_start_matches(PREFIX),
    ] {
        assert_eq!(Pin::read(wrong), None, "{wrong}");
    }
}
