//! Email addresses.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::accounts::WalletAddress;
use crate::ids::KeyId;

/// Maximum length of an address in characters (RFC 5321, section 4.5.3.1.3).
const MAX_CHARS: usize = 254;

/// An email address in lower case, so that one address is one user.
///
/// The check is deliberately lax, because only a delivered message proves an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Email(String);

/// Error of [`Email::from_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the email must look like name@example.com")]
pub struct InvalidEmail;

impl Email {
    /// Returns the placeholder address of a wallet's account. It receives no mail (RFC 2606 §2).
    pub fn of_wallet(address: WalletAddress) -> Self {
        Self(format!("{}@wallet.invalid", address.lower_case()))
    }

    /// Returns the placeholder address of a pre-funded key's account. It receives no mail.
    pub fn of_key(key: KeyId) -> Self {
        Self(format!("{key}@key.invalid"))
    }

    /// Returns the address verified by an identity provider, or a placeholder that receives no mail.
    pub fn of_subject(issuer: &str, subject: &str, checked: Option<&str>) -> Self {
        if let Some(checked) = checked.and_then(|address| address.parse().ok()) {
            return checked;
        }
        let name = hex::encode(&Sha256::digest(format!("{issuer} {subject}"))[..16]);
        Self(format!("{name}@login.invalid"))
    }

    /// Returns the address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Email {
    type Err = InvalidEmail;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let email = text.trim().to_lowercase();
        let has_two_parts =
            email.split_once('@').is_some_and(|(name, domain)| !name.is_empty() && !domain.is_empty());
        let has_gap = email.chars().any(|c| c.is_whitespace() || c.is_control());
        if has_two_parts && !has_gap && email.chars().count() <= MAX_CHARS {
            Ok(Self(email))
        } else {
            Err(InvalidEmail)
        }
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

crate::row::columns! {
    Email: String, |text| Ok(text.parse()?);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_surrounding_space_do_not_matter() {
        let email: Email = " Zoë@Example.COM\n".parse().unwrap();
        assert_eq!(email.as_str(), "zoë@example.com");
        assert_eq!(Ok(email), "ZOË@example.com".parse());
    }

    #[test]
    fn other_text_is_rejected() {
        let long = format!("{}@example.com", "a".repeat(MAX_CHARS));
        for text in ["", "nonsense", "@example.com", "name@", "a b@example.com", "a\u{0}@example.com", &long]
        {
            assert_eq!(text.parse::<Email>(), Err(InvalidEmail), "{text}");
        }
    }
}
