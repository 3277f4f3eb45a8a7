//! Callers that are named by their certificates, over real TLS: who comes in, as whom, and what
//! policies say of them.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use super::PING;
use crate::support::{Gateway, Home, Http, Legacy, Upstream, names_of, text_of, until, within};

/// Certificates of one authority, in files.
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

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Issues a certificate into `<name>.pem` and `<name>.key`.
    fn issue(&self, name: &str, unit: Option<&str>, until: i32) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        if let Some(unit) = unit {
            let kind = DnType::OrganizationalUnitName;
            params.distinguished_name.push(kind, unit);
        }
        params.not_after = date_time_ymd(until, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.file(&format!("{name}.pem")), certificate.pem()).unwrap();
        std::fs::write(self.file(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    /// What the gateway is told: its own certificate, and that this authority's name callers.
    fn tls(&self, required: bool) -> Value {
        json!({
            "certificate": self.file("gateway.pem"), "key": self.file("gateway.key"),
            "callers": { "roots": self.file("roots.pem"), "required": required },
        })
    }
}

/// A way to the gateway on which a certificate is shown: plain on this side, TLS on the other.
struct Way(String);

impl Way {
    async fn open(gateway: &Gateway, trusts: &Authority, own: Option<(&Authority, &str)>) -> Self {
        let connector = TlsConnector::from(Arc::new(shown(trusts, own)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = listener.local_addr().unwrap().to_string();
        let far = gateway.address.clone();
        tokio::spawn(async move {
            while let Ok((mut plain, _)) = listener.accept().await {
                let (connector, far) = (connector.clone(), far.clone());
                tokio::spawn(async move {
                    let stream = TcpStream::connect(far).await.ok()?;
                    let name = ServerName::try_from("localhost").unwrap();
                    let mut secured = connector.connect(name, stream).await.ok()?;
                    let copied = tokio::io::copy_bidirectional(&mut plain, &mut secured);
                    copied.await.ok()
                });
            }
        });
        Self(near)
    }

    fn http(&self) -> Http {
        Http::new(&format!("http://{}", self.0))
    }

    /// The status of a message, with a header; nothing where the connection is closed instead.
    async fn status(&self, header: &str) -> Option<u16> {
        knock(&self.0, header).await
    }
}

/// What TLS shows and trusts on this side.
fn shown(trusts: &Authority, own: Option<(&Authority, &str)>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(trusts.issuer.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let Some((authority, name)) = own else {
        return config.with_no_client_auth();
    };
    let certificate = authority.file(&format!("{name}.pem"));
    let certificate = CertificateDer::from_pem_file(certificate).unwrap();
    let key = authority.file(&format!("{name}.key"));
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    config
        .with_client_auth_cert(vec![certificate], key)
        .unwrap()
}

async fn knock(address: &str, header: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("host: localhost\r\n{header}");
    stream.write_all(&super::post(&head, PING)).await.ok()?;
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    within("the connection to close", read).await.ok()?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    answer.split(' ').nth(1)?.parse().ok()
}

/// What somebody gets who came in: a legacy message without a session.
const CAME_IN: u16 = 400;

const POLICIES: &str = r#"
@id("readers")
permit(principal in Role::"readers", action, resource == Tool::"files/read_note");
@id("ci")
permit(principal == Certificate::"ci", action, resource in Server::"files");
"#;

fn files() -> Upstream {
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    Upstream::play(&json!({
        "tools": [tool("read_note"), tool("write_note")],
        "results": { "read_note": ["a note"], "write_note": ["written"] },
    }))
}

fn config(files: &Upstream, tls: &Value) -> Value {
    let policies = json!({ "policies": POLICIES });
    json!({
        "routing_mode": "all", "tls": tls, "mcpServers": { "files": files.settings },
        "security": { "hooks": [{ "id": "rbac-enforcer", "type": "native", "config": policies }] },
    })
}

/// An authority with a certificate for the gateway and for three callers, and the gateway.
async fn started(required: bool) -> (Authority, Upstream, Gateway) {
    let authority = Authority::new();
    authority.issue("gateway", None, 2040);
    authority.issue("ci", None, 2040);
    authority.issue("ada", Some("readers"), 2040);
    authority.issue("old", None, 2001);
    let files = files();
    let home = Home::new(&config(&files, &authority.tls(required)));
    let gateway = Gateway::launch(home, &[]).await;
    let gateway = gateway.unwrap_or_else(|refused| panic!("{refused:?}"));
    (authority, files, gateway)
}

async fn listed(agent: &Legacy, least: usize) -> Vec<String> {
    until("the tools", async || {
        let list = agent.ask("tools/list", json!({})).await;
        let names = names_of(&list["tools"]);
        (names.len() >= least).then(|| names.into_iter().map(str::to_owned).collect())
    })
    .await
}

#[tokio::test]
async fn policies_know_callers_by_their_certificates() {
    let (authority, files, gateway) = started(true).await;
    let ci = Way::open(&gateway, &authority, Some((&authority, "ci"))).await;
    let ada = Way::open(&gateway, &authority, Some((&authority, "ada"))).await;
    let ci = Legacy::open_with(ci.http().at("/mcp"), json!({})).await;
    assert_eq!(
        listed(&ci, 2).await,
        ["files__read_note", "files__write_note"]
    );
    let by_ada = Legacy::open_with(ada.http().at("/mcp"), json!({})).await;
    assert_eq!(listed(&by_ada, 1).await, ["files__read_note"]);
    let read = by_ada.call("files__read_note", json!({})).await;
    assert_eq!(text_of(&read), "a note");
    let params = json!({ "name": "files__write_note", "arguments": {} });
    let refused = by_ada.request("tools/call", params).await.answer().await;
    assert!(refused["error"].is_object(), "{refused}");
    let written = ci.call("files__write_note", json!({})).await;
    assert_eq!(text_of(&written), "written");
    let called: Vec<_> = files.called().into_iter().map(|(tool, _)| tool).collect();
    assert_eq!(called, ["read_note", "write_note"]);
    // A session is its holder's: to another certificate it is not there.
    let stolen = ci.by(ada.http().at("/mcp")).send(PING).await;
    assert_eq!(stolen.status, 404);
    let home = gateway.stop().await;
    let by: Vec<_> = home
        .records()
        .iter()
        .map(|one| one["principal"].clone())
        .collect();
    assert!(by.contains(&json!("certificate:ci")), "{by:?}");
    assert!(by.contains(&json!("certificate:ada")), "{by:?}");
}

#[tokio::test]
async fn without_a_certificate_of_the_authority_nobody_comes_in() {
    let (authority, _files, gateway) = started(true).await;
    let stranger = Authority::new();
    stranger.issue("ci", None, 2040);
    let check = async |own: Option<(&Authority, &str)>, expect: Option<u16>| {
        let way = Way::open(&gateway, &authority, own).await;
        assert_eq!(
            way.status("").await,
            expect,
            "{:?}",
            own.map(|(_, name)| name)
        );
    };
    check(Some((&authority, "ci")), Some(CAME_IN)).await;
    check(None, None).await;
    check(Some((&stranger, "ci")), None).await;
    check(Some((&authority, "old")), None).await;
    // Nor does anybody by plain HTTP.
    assert_eq!(knock(&gateway.address, "").await, None);
}

#[tokio::test]
async fn a_certificate_is_one_credential_among_others_and_administers_nothing() {
    let (authority, _files, gateway) = started(false).await;
    let none = Way::open(&gateway, &authority, None).await;
    assert_eq!(none.status("").await, Some(401));
    let key = format!("x-api-key: {}\r\n", gateway.home.key());
    assert_eq!(none.status(&key).await, Some(CAME_IN));
    assert_eq!(none.status("x-api-key: wrong\r\n").await, Some(401));
    let ci = Way::open(&gateway, &authority, Some((&authority, "ci"))).await;
    assert_eq!(ci.status("").await, Some(CAME_IN));
    // Whoever shows a wrong key is not let in for their certificate's sake.
    assert_eq!(ci.status("x-api-key: wrong\r\n").await, Some(401));
    let (refused, _) = ci.http().get("/api/v1/status").await;
    assert_eq!(refused, 403);
    let owner = ci.http().with("x-api-key", &gateway.home.key());
    let (fine, said) = owner.get("/api/v1/status").await;
    assert_eq!(
        (fine.as_u16(), &said["data"]["scheme"]),
        (200, &json!("https"))
    );
    let stranger = Authority::new();
    stranger.issue("ci", None, 2040);
    let unknown = Way::open(&gateway, &authority, Some((&stranger, "ci"))).await;
    assert_eq!(unknown.status("").await, None);
}

#[tokio::test]
async fn renewed_files_are_in_force_without_a_restart() {
    let (authority, _files, gateway) = started(true).await;
    let (next, roots) = (Authority::new(), authority.file("roots.pem"));
    next.issue("ci", None, 2040);
    let old = Way::open(&gateway, &authority, Some((&authority, "ci"))).await;
    let new = Way::open(&gateway, &authority, Some((&next, "ci"))).await;
    assert_eq!(old.status("").await, Some(CAME_IN));
    assert_eq!(new.status("").await, None);
    // What cannot be used changes nothing, and is said.
    std::fs::write(&roots, "none").unwrap();
    gateway.until_logged("it holds no certificate").await;
    assert_eq!(old.status("").await, Some(CAME_IN));
    let said = gateway.home.run(&["status"]).await;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("holds no certificate"), "{said}");
    std::fs::copy(next.file("roots.pem"), &roots).unwrap();
    until("the new authority to be believed", async || {
        (new.status("").await == Some(CAME_IN)).then_some(())
    })
    .await;
    assert_eq!(old.status("").await, None);
}

#[tokio::test]
async fn a_certificate_that_cannot_be_read_stops_the_start() {
    let authority = Authority::new();
    let config = json!({ "tls": authority.tls(true) });
    let refused = Gateway::launch(Home::new(&config), &[]).await;
    let said = refused.err().unwrap().said;
    assert!(said.contains("gateway.pem"), "{said}");
}
