//! Upstreams that are held to their key, over real TLS on this machine.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use mcpproxy_mcp::dial::Pin;
use mcpproxy_testkit::{EraSupport, Sample};
use rcgen::{CertifiedKey, KeyPair, PublicKeyData as _, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::{Gateway, Legacy, Over, Upstream, names_of, text_of, until};

type Identity = CertifiedKey<KeyPair>;

fn identity() -> Identity {
    generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

fn pin(identity: &Identity) -> String {
    Pin::of(&identity.signing_key.subject_public_key_info()).to_string()
}

/// TLS in front of an upstream, with a certificate that can be changed.
struct Front {
    url: String,
    shown: Arc<Mutex<TlsAcceptor>>,
}

impl Front {
    async fn start(identity: &Identity, behind: &Upstream) -> Self {
        let url = behind.settings["url"].as_str().unwrap();
        let behind: SocketAddr = url
            .trim_start_matches("http://")
            .trim_end_matches("/mcp")
            .parse()
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shown = Arc::new(Mutex::new(acceptor(identity)));
        let showing = Arc::clone(&shown);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let acceptor = showing.lock().unwrap().clone();
                tokio::spawn(async move {
                    let mut stream = acceptor.accept(stream).await.ok()?;
                    let mut inner = TcpStream::connect(behind).await.ok()?;
                    tokio::io::copy_bidirectional(&mut stream, &mut inner)
                        .await
                        .ok()
                });
            }
        });
        let url = format!("https://localhost:{port}/mcp");
        Self { url, shown }
    }

    fn show(&self, identity: &Identity) {
        *self.shown.lock().unwrap() = acceptor(identity);
    }

    fn settings(&self, tls: &Value) -> Value {
        let mut settings = json!({ "url": self.url });
        if !tls.is_null() {
            settings["tls"] = tls.clone();
        }
        settings
    }
}

fn acceptor(identity: &Identity) -> TlsAcceptor {
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.der().clone()], key.into())
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn only_an_upstream_with_the_pinned_key_is_spoken_to() {
    let (ours, other) = (identity(), identity());
    let upstream = Upstream::start(Sample::Echo, EraSupport::Both, Over::Http).await;
    let front = Front::start(&ours, &upstream).await;
    let pinned = |pin: &str| json!({ "pin": pin, "self_signed": true });
    let gateway = Gateway::start(&json!({
        "routing_mode": "all",
        "mcpServers": {
            "right": front.settings(&pinned(&pin(&ours))),
            "wrong": front.settings(&pinned(&pin(&other))),
            "chained": front.settings(&json!({ "pin": pin(&ours) })),
            "plain": front.settings(&Value::Null),
        },
    }))
    .await;
    let servers = gateway.api("/servers").await;
    for one in servers.as_array().unwrap() {
        let status = one["status"].as_str().unwrap();
        let expect = if one["name"] == "right" {
            "up"
        } else {
            "down: "
        };
        assert!(status.starts_with(expect), "{one}");
    }
    gateway.until_logged(&pin(&ours)).await;
    let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
    let answer = agent.call("right__echo", json!({ "text": "hello" })).await;
    assert_eq!(text_of(&answer), "hello");
}

#[tokio::test]
async fn an_upstream_that_is_pinned_to_another_key_waits_for_a_person() {
    let (ours, other) = (identity(), identity());
    let upstream = Upstream::start(Sample::Echo, EraSupport::Both, Over::Http).await;
    let front = Front::start(&ours, &upstream).await;
    let config = |pin: &str| {
        let tls = json!({ "pin": pin, "self_signed": true });
        json!({ "routing_mode": "all", "mcpServers": { "notes": front.settings(&tls) } })
    };
    let gateway = Gateway::start(&config(&pin(&ours))).await;
    let offered = async || {
        let agent = Legacy::open(&gateway.url("/mcp"), json!({})).await;
        let list = agent.ask("tools/list", json!({})).await;
        names_of(&list["tools"]).contains(&"notes__echo")
    };
    assert!(offered().await);
    front.show(&other);
    gateway.home.configure(&config(&pin(&other)).to_string());
    until("the upstream to be withheld", || async {
        let servers = gateway.api("/servers").await;
        let held = servers[0]["status"] == "quarantined";
        (held && !offered().await).then_some(())
    })
    .await;
}
