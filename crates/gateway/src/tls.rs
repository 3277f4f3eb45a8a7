//! TLS on the gateway's own listener, and the certificates by which callers name themselves.
//!
//! A certificate that no configured authority vouches for ends the handshake. What one says about
//! its holder is in `certificate`. Deliberately absent: lists of revoked certificates; who must not
//! come any more is forbidden by an access policy, or their authority is taken out of the file.

mod certificate;
mod settings;
#[cfg(test)]
mod tests;

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub(crate) use self::certificate::Shown;
pub use self::settings::{CallerSettings, NamedBy, TlsSettings};
use crate::Error;

/// The largest file of certificates or of a key.
const LONGEST: u64 = 1024 * 1024;

/// What is needed to speak TLS, read from the files that the configuration names.
pub struct Tls {
    acceptor: TlsAcceptor,
    named_by: Option<NamedBy>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Tls")
            .field("named_by", &self.named_by)
            .finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the files, or says what is wrong with which.
    pub fn read(settings: &TlsSettings) -> Result<Self, Error> {
        let provider = Arc::new(ring::default_provider());
        let chain = certificates(&settings.certificate)?;
        let key = bounded(&settings.key)?;
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(unusable(&settings.key))?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(unusable(&settings.certificate))?;
        let builder = match &settings.callers {
            Some(callers) => builder.with_client_cert_verifier(verifier(callers, provider)?),
            None => builder.with_no_client_auth(),
        };
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(unusable(&settings.certificate))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            named_by: settings.callers.as_ref().map(|callers| callers.named_by),
        })
    }

    /// Shakes hands within a time, and says what certificate the other end showed, if it did.
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
        patience: Duration,
    ) -> std::io::Result<(TlsStream<TcpStream>, Option<Shown>)> {
        let accepted = tokio::time::timeout(patience, self.acceptor.accept(stream)).await;
        let stream = accepted.map_err(|_| std::io::ErrorKind::TimedOut)??;
        let chain = stream.get_ref().1.peer_certificates();
        let leaf = chain.and_then(<[_]>::first).zip(self.named_by);
        let shown = leaf.map(|(leaf, named_by)| Shown::read(leaf, named_by));
        Ok((stream, shown))
    }
}

fn verifier(
    callers: &CallerSettings,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&callers.roots)? {
        let added = roots.add(certificate);
        added.map_err(unusable(&callers.roots))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if callers.required {
        builder
    } else {
        builder.allow_unauthenticated()
    };
    builder.build().map_err(unusable(&callers.roots))
}

/// Reads a file that must hold one certificate or more.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let text = bounded(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(unusable(path))?;
    if found.is_empty() {
        return Err(unusable(path)("it holds no certificate"));
    }
    Ok(found)
}

fn bounded(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = mcpproxy_core::open_regular(path)
        .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
        .map_err(unusable(path))?;
    if u64::try_from(read).is_ok_and(|read| read <= LONGEST) {
        return Ok(bytes);
    }
    Err(unusable(path)("it is larger than 1 MiB"))
}

fn unusable<T: ToString>(path: &Path) -> impl FnOnce(T) -> Error {
    let path = path.to_owned();
    move |why| Error::Tls {
        path,
        why: why.to_string(),
    }
}
