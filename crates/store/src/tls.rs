//! Which certificates of databases are believed, by rustls.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio_rustls::TlsConnector;

/// Who may issue the certificate of a database.
#[derive(Clone)]
pub(crate) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Trusts the issuers in a file, or the usual ones.
    pub(crate) fn new(issuers: Option<&Path>) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        if let Some(path) = issuers {
            let told = |fault: &dyn std::fmt::Display| {
                io::Error::other(format!("`{}`: {fault}", path.display()))
            };
            let found = CertificateDer::pem_file_iter(path).map_err(|fault| told(&fault))?;
            for certificate in found {
                let certificate = certificate.map_err(|fault| told(&fault))?;
                roots.add(certificate).map_err(|fault| told(&fault))?;
            }
        } else {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }

    /// Returns what encrypts a connection.
    pub(crate) fn connector(&self) -> TlsConnector {
        TlsConnector::from(Arc::clone(&self.0))
    }
}
