//! What TLS towards a service trusts and shows. Nothing here weakens a check.

use std::path::Path;
use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt as _;
use rustls::client::WantsClientCert;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};

use crate::{Error, TlsSettings};

/// Makes the configuration of all connections to one service.
pub(crate) fn config(settings: Option<&TlsSettings>) -> Result<ClientConfig, Error> {
    let nothing = TlsSettings::default();
    let settings = settings.unwrap_or(&nothing);
    let trusting = trusting(settings.roots.as_deref())?;
    match (&settings.certificate, &settings.key) {
        (None, None) => Ok(trusting.with_no_client_auth()),
        (Some(certificate), Some(key)) => {
            let chain = certificates(certificate)?;
            let secret = PrivateKeyDer::from_pem_file(key).map_err(|why| unreadable(key, &why))?;
            let config = trusting.with_client_auth_cert(chain, secret);
            config.map_err(|fault| Error::Tls(fault.to_string()))
        }
        (Some(_), None) | (None, Some(_)) => Err(Error::HalfIdentity),
    }
}

fn trusting(roots: Option<&Path>) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|fault| Error::Tls(fault.to_string()))?;
    let Some(path) = roots else {
        return Ok(builder.with_webpki_roots());
    };
    let mut store = RootCertStore::empty();
    for certificate in certificates(path)? {
        store
            .add(certificate)
            .map_err(|fault| unreadable(path, &fault))?;
    }
    Ok(builder.with_root_certificates(store))
}

/// Reads a file that must hold one certificate or more.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read = CertificateDer::pem_file_iter(path).map_err(|why| unreadable(path, &why))?;
    let found: Result<Vec<_>, _> = read.collect();
    let found = found.map_err(|why| unreadable(path, &why))?;
    if found.is_empty() {
        return Err(unreadable(path, &"it holds no certificate"));
    }
    Ok(found)
}

fn unreadable(path: &Path, why: &dyn ToString) -> Error {
    Error::File {
        path: path.to_owned(),
        why: why.to_string(),
    }
}
