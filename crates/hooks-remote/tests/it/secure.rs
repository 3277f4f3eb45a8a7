//! TLS towards services: roots of one's own, certificates of both sides, and what is refused.

use std::path::PathBuf;
use std::sync::Arc;

use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use mcpproxy_core::security::{HookFault, SecurityDecision};
use mcpproxy_hooks_remote::{GrpcConfig, GrpcHook, GrpcSettings, Protocol, TlsSettings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::asked::{PATIENT, REQUESTS, ask, settings, webhook};

/// Certificates of one authority, in files as a configuration names them.
struct Authority {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("roots.pem"), issuer.pem()).unwrap();
        Self { folder, issuer }
    }

    fn issue(&self, name: &str) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = |kind: &str| self.folder.path().join(format!("{name}.{kind}.pem"));
        std::fs::write(file("certificate"), certificate.pem()).unwrap();
        std::fs::write(file("key"), key.serialize_pem()).unwrap();
        let secret = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        (certificate.der().clone(), secret)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Serves an answer that allows, over HTTP/1.1 and gRPC, to whoever shows a certificate.
async fn serve(authority: &Authority) -> u16 {
    let mut roots = RootCertStore::empty();
    roots.add(authority.issuer.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let (certificate, key) = authority.issue("localhost");
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let answer = service_fn(async |question| Ok::<_, std::io::Error>(allow(&question)));
                let serving = auto::Builder::new(TokioExecutor::new());
                let served = serving.serve_connection(TokioIo::new(stream), answer).await;
                drop(served);
            });
        }
    });
    port
}

/// The frame of a `Decision` whose field 1, `allow`, is set.
const ALLOW: &[u8] = &[0, 0, 0, 0, 2, 0x0a, 0];

fn allow(question: &http::Request<hyper::body::Incoming>) -> http::Response<Full<bytes::Bytes>> {
    let answer = http::Response::builder();
    if question.uri().path() == "/mcpproxy.hook.v1.Hook/Inspect" {
        let answer = answer
            .header("content-type", "application/grpc")
            .header("grpc-status", "0");
        return answer.body(Full::from(ALLOW)).unwrap();
    }
    let answer = answer.header("content-type", "application/json");
    answer.body(Full::from(r#"{"decision":"allow"}"#)).unwrap()
}

async fn check(port: u16, tls: Option<TlsSettings>, expect: Result<(), &str>) {
    let mut over_http = settings(format!("https://localhost:{port}/"));
    over_http.config.tls.clone_from(&tls);
    let over_grpc = GrpcSettings {
        endpoint: format!("grpcs://localhost:{port}"),
        protocol: Protocol::Mcpproxy,
        headers: std::collections::BTreeMap::default(),
        config: GrpcConfig {
            tls,
            ..GrpcConfig::default()
        },
    };
    let grpc = GrpcHook::new("rbac", 200, REQUESTS, &over_grpc).unwrap();
    for answered in [
        ask(&webhook(&over_http), PATIENT).await,
        ask(&grpc, PATIENT).await,
    ] {
        match (&answered, expect) {
            (Ok(SecurityDecision::Allow), Ok(())) => {}
            (Err(HookFault::Unreachable(why) | HookFault::Crashed(why)), Err(expect)) => {
                assert!(why.contains(expect), "{why} does not say {expect}");
            }
            _ => panic!("{answered:?} is not {expect:?}"),
        }
    }
}

#[tokio::test]
async fn both_sides_show_certificates_and_neither_trusts_a_stranger() {
    let authority = Authority::new();
    let stranger = Authority::new();
    let port = serve(&authority).await;
    authority.issue("gateway");
    let both = TlsSettings {
        roots: Some(authority.file("roots.pem")),
        certificate: Some(authority.file("gateway.certificate.pem")),
        key: Some(authority.file("gateway.key.pem")),
    };
    check(port, Some(both.clone()), Ok(())).await;
    check(port, None, Err("invalid peer certificate")).await;
    let wrong_roots = TlsSettings {
        roots: Some(stranger.file("roots.pem")),
        ..both.clone()
    };
    check(port, Some(wrong_roots), Err("invalid peer certificate")).await;
    let unknown = TlsSettings {
        certificate: None,
        key: None,
        ..both.clone()
    };
    check(port, Some(unknown), Err("")).await;

    let missing = TlsSettings {
        roots: Some(authority.file("nowhere.pem")),
        ..both
    };
    let mut settings = settings("https://localhost/".to_owned());
    settings.config.tls = Some(missing);
    let clock = Arc::new(mcpproxy_core::SystemClock::start());
    let made = mcpproxy_hooks_remote::Webhook::new("dlp", 1, REQUESTS, &settings, clock);
    assert!(made.unwrap_err().to_string().contains("nowhere.pem"));
}
