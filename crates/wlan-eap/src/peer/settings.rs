//! The TLS settings of a station: certificates, keys, and the name of the server.

use std::fmt;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

/// Why certificates or keys are unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A file has no certificate, or an invalid one.
    #[error("expected PEM certificates: {0}")]
    Certificates(String),
    /// A file has no private key, or an invalid one.
    #[error("expected a PEM private key without a passphrase: {0}")]
    Key(String),
    /// The certificate of the station and its key do not match, or are unsupported.
    #[error("{0}")]
    Identity(String),
    /// The name of the server is invalid.
    #[error("\"{0}\" is not a DNS name or an IP address")]
    Name(String),
}

/// How a station verifies the server, and its own certificate. The server's certificate must be signed by one of the
/// station's CAs, be valid, and contain the server's name.
#[derive(Clone)]
pub struct Tls {
    pub(super) config: Arc<ClientConfig>,
    pub(super) server: ServerName<'static>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Tls {
    /// Trusts the CA certificates of a PEM file, and expects a server certificate with the name `server`. `own` is the
    /// station's certificate chain and its private key, also in PEM.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn new(ca: &[u8], server: &str, own: Option<(&[u8], &[u8])>) -> Result<Self, SettingsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(ca)? {
            roots
                .add(certificate)
                .map_err(|error| SettingsError::Certificates(error.to_string()))?;
        }
        let name =
            ServerName::try_from(server.to_owned()).map_err(|_| SettingsError::Name(server.to_owned()))?;
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| SettingsError::Identity(error.to_string()))?
            .with_root_certificates(roots);
        let mut config = match own {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let key = PrivateKeyDer::from_pem_slice(key)
                    .map_err(|error| SettingsError::Key(error.to_string()))?;
                builder
                    .with_client_auth_cert(certificates(chain)?, key)
                    .map_err(|error| SettingsError::Identity(error.to_string()))?
            }
        };
        config.enable_sni = false;
        config.resumption = Resumption::disabled();
        Ok(Self {
            config: Arc::new(config),
            server: name,
        })
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SettingsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| SettingsError::Certificates(error.to_string()))?;
    if found.is_empty() {
        return Err(SettingsError::Certificates(
            "the file has no certificate".to_owned(),
        ));
    }
    Ok(found)
}
