//! What a certificate says about its holder. It was verified before: here it is only read.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use mcpproxy_core::{Claims, Principal, PrincipalKind, Wall};
use ring::digest::{SHA256, digest};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::AttributeTypeAndValue;

use super::settings::NamedBy;
use crate::oauth::plain_name;

/// Roles of one certificate.
const MOST: usize = 256;

/// A certificate that the other end of a connection showed.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Its holder, or why it names nobody.
    pub(crate) holder: Result<Principal, &'static str>,
    /// Its SHA-256, as tokens that are bound to it have it (RFC 8705, section 3.1).
    pub(crate) thumbprint: String,
}

impl Shown {
    pub(crate) fn read(der: &[u8], named_by: NamedBy) -> Self {
        let holder = claims(der, named_by).map(|claims| Principal {
            kind: PrincipalKind::Certificate,
            name: format!("certificate:{}", claims.subject).into(),
            claims: Some(Arc::new(claims)),
        });
        Self {
            holder,
            thumbprint: BASE64.encode(digest(&SHA256, der)),
        }
    }
}

fn claims(der: &[u8], named_by: NamedBy) -> Result<Claims, &'static str> {
    const UNREADABLE: &str = "the certificate cannot be read";
    let (_, certificate) = X509Certificate::from_der(der).map_err(|_| UNREADABLE)?;
    let subject = certificate.subject();
    let roles = texts(subject.iter_organizational_unit());
    let roles = roles.filter(|roles| roles.len() <= MOST);
    let organization = texts(subject.iter_organization()).ok_or(UNREADABLE)?;
    let issuer = texts(certificate.issuer().iter_common_name()).ok_or(UNREADABLE)?;
    let serial = certificate.raw_serial_as_string().replace(':', "");
    let mut attributes = vec![("serial".to_owned(), serial)];
    // What is there twice could be read as either.
    for (name, values) in [("organization", organization), ("issuer", issuer)] {
        if let Ok([value]) = <[String; 1]>::try_from(values) {
            attributes.push((name.to_owned(), value));
        }
    }
    Ok(Claims {
        subject: holder(&certificate, named_by)?,
        roles: roles.ok_or("the organizational units in the certificate are no names")?,
        scopes: Vec::new(),
        attributes,
        until: Some(until(&certificate)),
    })
}

/// The one name by which the holder is known. A certificate for any of several hosts names nobody.
fn holder(certificate: &X509Certificate<'_>, by: NamedBy) -> Result<String, &'static str> {
    const NOBODY: &str = "the certificate does not have exactly one name of the kind that counts";
    let mut found = match by {
        NamedBy::CommonName => texts(certificate.subject().iter_common_name()),
        NamedBy::Dns | NamedBy::Email | NamedBy::Uri => alternative(certificate, by),
    }
    .ok_or(NOBODY)?;
    match (found.pop(), found.is_empty()) {
        (Some(name), true) if !name.contains('*') => Ok(name),
        _ => Err(NOBODY),
    }
}

fn alternative(certificate: &X509Certificate<'_>, by: NamedBy) -> Option<Vec<String>> {
    let Some(names) = certificate.subject_alternative_name().ok()? else {
        return Some(Vec::new());
    };
    let wanted = names
        .value
        .general_names
        .iter()
        .filter_map(|name| match (name, by) {
            (GeneralName::DNSName(name), NamedBy::Dns)
            | (GeneralName::RFC822Name(name), NamedBy::Email)
            | (GeneralName::URI(name), NamedBy::Uri) => Some(*name),
            _ => None,
        });
    wanted.map(|name| plain_name(Some(name))).collect()
}

/// Takes the values of a part of a name; nothing where one is no text that can be written down.
fn texts<'a, 'b: 'a>(
    values: impl Iterator<Item = &'a AttributeTypeAndValue<'b>>,
) -> Option<Vec<String>> {
    values
        .map(|value| plain_name(value.as_str().ok()))
        .collect()
}

/// When the certificate ends. One from before 1970 has ended anyway.
fn until(certificate: &X509Certificate<'_>) -> Wall {
    let seconds = u64::try_from(certificate.validity().not_after.timestamp());
    Wall(0).after(Duration::from_secs(seconds.unwrap_or_default()))
}
