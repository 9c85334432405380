//! TLS of outgoing connections, verified with the root certificates of the system.
//!
//! Reading them takes longer than anything else at the start (hundreds of files on Debian), and a service with a
//! local upstream never needs them. They are read once, at the first TLS connection.

use std::sync::{Arc, LazyLock, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// Returns the settings of all outgoing TLS connections, which share their sessions.
pub(crate) fn config() -> ClientConfig {
    #[expect(clippy::expect_used, reason = "the provider supports all versions")]
    static CONFIG: LazyLock<ClientConfig> = LazyLock::new(|| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(rustls::DEFAULT_VERSIONS)
            .expect("supported versions")
            // The verifier is rustls's own for the roots of the system.
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(SystemVerifier {
                provider,
                verifier: OnceLock::new(),
            }))
            .with_no_client_auth();
        config.alpn_protocols = vec!["h2".into(), "http/1.1".into()];
        config
    });
    CONFIG.clone()
}

/// The verifier of the platform, created at its first use.
#[derive(Debug)]
struct SystemVerifier {
    provider: Arc<CryptoProvider>,
    verifier: OnceLock<Verifier>,
}

impl SystemVerifier {
    /// Fails if the system has no root certificates; the next connection tries again.
    fn get(&self) -> Result<&Verifier, Error> {
        if let Some(verifier) = self.verifier.get() {
            return Ok(verifier);
        }
        let verifier = Verifier::new(Arc::clone(&self.provider))?;
        Ok(self.verifier.get_or_init(|| verifier))
    }
}

impl ServerCertVerifier for SystemVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.get()?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.get()?.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.get()?.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
