//! Sign-In with Ethereum (EIP-4361): writes, parses and verifies messages.

use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::{Fault, MessageError, Purpose, WalletMessage, WalletMessages};
use ep_polling::Timestamp;
use ep_store::{CLOCKS_APART, WalletAddress};
use signinwithethereum::{Message, TimeStamp, Version};
use url::Url;

use crate::identity::contracts::ContractWallets;

/// Maximum length of a message, in bytes.
const MAX_MESSAGE: usize = 4096;
/// Maximum age of a message.
const MAX_AGE: Duration = Duration::from_mins(5);
/// Length of a key's signature (r, s and v), in bytes.
const KEY_SIGNATURE: usize = 65;

/// The site that messages are bound to.
#[derive(Debug, Clone)]
pub struct SiweSite {
    /// The service's base URL. Its host and port are the domain of messages.
    pub base_url: Url,
    /// The chain whose contract wallets can sign in (EIP-155).
    pub chain_id: u64,
}

/// The sign-in messages of one service.
pub struct Siwe {
    site: SiweSite,
    domain: String,
    contracts: Option<ContractWallets>,
}

impl Siwe {
    /// Creates the messages of this site. Without `contracts`, only wallets with a key can sign in.
    pub fn new(site: SiweSite, contracts: Option<ContractWallets>) -> Self {
        let domain = site.base_url.authority().to_owned();
        Self { site, domain, contracts }
    }

    /// Returns the domain of messages.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    fn is_ours(&self, message: &Message) -> bool {
        let scheme = message.scheme.as_deref();
        let same_origin =
            Url::parse(message.uri.as_str()).is_ok_and(|uri| uri.origin() == self.site.base_url.origin());
        message.domain.as_str().eq_ignore_ascii_case(&self.domain)
            && scheme.is_none_or(|scheme| scheme == self.site.base_url.scheme())
            && same_origin
    }
}

#[async_trait]
impl WalletMessages for Siwe {
    fn write(
        &self,
        address: WalletAddress,
        purpose: Purpose,
        nonce: &str,
        issued_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<String, Fault> {
        let base_url = self.site.base_url.as_str().trim_end_matches('/');
        let message = Message {
            scheme: None,
            domain: self.domain.parse().map_err(Fault::internal)?,
            address: address.bytes(),
            address_raw: None,
            statement: Some(statement(purpose).to_owned()),
            uri: base_url.parse().map_err(Fault::internal)?,
            version: Version::V1,
            chain_id: self.site.chain_id,
            nonce: nonce.to_owned(),
            issued_at: time_stamp(issued_at)?,
            expiration_time: Some(time_stamp(expires_at)?),
            not_before: None,
            request_id: None,
            resources: Vec::new(),
            warnings: Vec::new(),
        };
        Ok(message.to_string())
    }

    fn read(&self, text: &str, now: Timestamp) -> Result<WalletMessage, MessageError> {
        let message = parse(text).ok_or(MessageError::Form)?;
        if !self.is_ours(&message) {
            return Err(MessageError::Domain);
        }
        if message.chain_id != self.site.chain_id {
            return Err(MessageError::Chain);
        }
        let issued_at = millis(&message.issued_at);
        let fresh = issued_at >= now.millis() - MAX_AGE.as_millis() as i64
            && issued_at <= now.after(CLOCKS_APART).millis()
            && message.expiration_time.as_ref().is_none_or(|at| now.millis() < millis(at))
            && message.not_before.as_ref().is_none_or(|at| now.millis() >= millis(at));
        if !fresh {
            return Err(MessageError::Time);
        }
        Ok(WalletMessage { address: WalletAddress::new(message.address), nonce: message.nonce })
    }

    async fn is_signed(&self, text: &str, signature: &str) -> Result<bool, Fault> {
        let signature = signature.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
        let (Some(message), Some(signature)) = (parse(text), signature) else { return Ok(false) };
        // A signature that recovers to no key would pass for the zero address.
        if message.address == [0; 20] {
            return Ok(false);
        }
        if let Ok(by_key) = <&[u8; KEY_SIGNATURE]>::try_from(signature.as_slice())
            && message.verify_eip191(by_key).is_ok()
        {
            return Ok(true);
        }
        let Some(contracts) = &self.contracts else { return Ok(false) };
        let hash = message.eip191_hash().map_err(Fault::internal)?;
        contracts.accepts(message.address, hash, &signature).await
    }
}

/// Parses a message of limited length.
fn parse(text: &str) -> Option<Message> {
    (text.len() <= MAX_MESSAGE).then(|| text.parse().ok()).flatten()
}

/// Returns the statement shown to the wallet's holder: printable ASCII on one line (EIP-4361).
const fn statement(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Any => "Sign in to Ensemble Poll, or manage the API keys of your account there.",
        Purpose::SignIn => "Sign in to Ensemble Poll.",
        Purpose::RevokeKey => "Revoke an API key of your Ensemble Poll account.",
        Purpose::RotateKey => "Revoke all API keys of your Ensemble Poll account, and get a new one.",
    }
}

fn time_stamp(at: Timestamp) -> Result<TimeStamp, Fault> {
    at.to_string().parse().map_err(Fault::internal)
}

/// Converts a timestamp to milliseconds since the epoch.
fn millis(at: &TimeStamp) -> i64 {
    (at.as_ref().unix_timestamp_nanos() / 1_000_000) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_262_400_000);

    fn siwe(base_url: &str) -> Siwe {
        let base_url = Url::parse(base_url).unwrap();
        Siwe::new(SiweSite { base_url, chain_id: 8453 }, None)
    }

    fn challenge() -> String {
        let nonce = "0123456789abcdef0";
        let expires_at = NOW.after(Duration::from_mins(5));
        let address = WalletAddress::new([0x11; 20]);
        siwe("https://ep.example:8443").write(address, Purpose::SignIn, nonce, NOW, expires_at).unwrap()
    }

    #[test]
    fn a_written_message_can_be_parsed() {
        let text = challenge();
        assert_eq!(
            text,
            "ep.example:8443 wants you to sign in with your Ethereum account:\n\
             0x1111111111111111111111111111111111111111\n\n\
             Sign in to Ensemble Poll.\n\n\
             URI: https://ep.example:8443\nVersion: 1\nChain ID: 8453\nNonce: 0123456789abcdef0\n\
             Issued At: 2026-11-21T12:00:00.000Z\nExpiration Time: 2026-11-21T12:05:00.000Z"
        );
        let read = siwe("https://ep.example:8443").read(&text, NOW).unwrap();
        assert_eq!(read.address, WalletAddress::new([0x11; 20]));
        assert_eq!(read.nonce, "0123456789abcdef0");
    }

    #[test]
    fn messages_for_other_sites_and_times_are_rejected() {
        let text = challenge();
        let read = |text: &str, now| siwe("https://ep.example:8443").read(text, now);
        let elsewhere = |base_url| siwe(base_url).read(&text, NOW).unwrap_err();
        assert_eq!(elsewhere("https://ep.example"), MessageError::Domain);
        assert_eq!(elsewhere("http://ep.example:8443"), MessageError::Domain);
        let other_uri = text.replace("URI: https://ep.example:8443", "URI: https://evil.example");
        assert_eq!(read(&other_uri, NOW), Err(MessageError::Domain));
        let other_scheme = format!("http://{text}");
        assert_eq!(read(&other_scheme, NOW), Err(MessageError::Domain));
        assert_eq!(read(&text.replace("8453", "1"), NOW), Err(MessageError::Chain));

        let before = |seconds: i64| Timestamp::from_millis(NOW.millis() - 1000 * seconds);
        assert!(read(&text, before(120)).is_ok());
        assert_eq!(read(&text, before(121)), Err(MessageError::Time));
        assert!(read(&text, before(-299)).is_ok());
        assert_eq!(read(&text, before(-300)), Err(MessageError::Time), "its expiration");
        let lasting = text.replace("\nExpiration Time: 2026-11-21T12:05:00.000Z", "");
        assert!(read(&lasting, before(-300)).is_ok());
        assert_eq!(read(&lasting, before(-301)), Err(MessageError::Time), "its age");
        let later = format!("{text}\nNot Before: 2026-11-21T12:00:01Z");
        assert_eq!(read(&later, NOW), Err(MessageError::Time));
        assert!(read(&later, before(-1)).is_ok());
    }

    #[test]
    fn malformed_messages_are_rejected() {
        let text = challenge();
        let long = format!("{text}\nResources:{}", "\n- https://a.example".repeat(300));
        for malformed in [
            String::new(),
            text.replace('\n', "\r\n"),
            format!("{text}\n"),
            text.replace("Version: 1", "Version: 2"),
            text.replace("0123456789abcdef0", "short"),
            text.replace("Sign in to", "Sign in t\u{f6}"),
            text.replace(
                "0x1111111111111111111111111111111111111111",
                "0xaAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            ),
            text.replace("2026-11-21T12:00:00.000Z", "yesterday"),
            long,
        ] {
            let read = siwe("https://ep.example:8443").read(&malformed, NOW);
            assert_eq!(read, Err(MessageError::Form), "{malformed}");
        }
    }
}
