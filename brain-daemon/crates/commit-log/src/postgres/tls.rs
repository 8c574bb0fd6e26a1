//! TLS to the server: the chain and the name of its certificate are verified.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;

/// Returns TLS that trusts the authorities of a file, or the system's.
///
/// # Errors
/// [`Error::File`] if the file cannot be read or has no certificate.
pub(super) fn connector(file: Option<&Path>) -> Result<MakeRustlsConnect, Error> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(path) => {
            let failed = |reason: String| Error::File {
                path: path.to_owned(),
                source: std::io::Error::other(reason),
            };
            for certificate in
                CertificateDer::pem_file_iter(path).map_err(|e| failed(e.to_string()))?
            {
                let certificate = certificate.map_err(|e| failed(e.to_string()))?;
                roots.add(certificate).map_err(|e| failed(e.to_string()))?;
            }
            if roots.is_empty() {
                return Err(failed("it has no certificate in PEM form".into()));
            }
        }
        // A system without certificates makes each handshake fail with "unknown issuer".
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::InvalidUrl(format!("TLS cannot be set up: {e}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
