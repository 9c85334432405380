//! Wallet addresses.

use std::fmt;
use std::str::FromStr;

use ep_polling::{checked, inline_schema};
use serde::{Deserialize, Serialize};
use sha3::{Digest, Keccak256};

/// An Ethereum address, displayed with the checksum of EIP-55.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WalletAddress([u8; 20]);

/// Errors of [`WalletAddress::from_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWalletAddress {
    /// Not 0x and 40 hexadecimal digits.
    #[error("must be a wallet address: 0x and 40 hexadecimal digits")]
    Form,
    /// The letter case does not match the checksum (EIP-55).
    #[error("has a wrong checksum (EIP-55): copy the address again, or write it in lower case")]
    Checksum,
}

impl WalletAddress {
    /// The JSON Schema pattern of an address.
    const PATTERN: &'static str = "^0x[0-9a-fA-F]{40}$";

    /// Creates an address from its bytes.
    pub const fn new(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub const fn bytes(&self) -> [u8; 20] {
        self.0
    }

    /// Returns the address in lower case, as it is stored.
    pub fn lower_case(&self) -> String {
        format!("0x{}", hex::encode(self.0))
    }
}

impl FromStr for WalletAddress {
    type Err = InvalidWalletAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("0x").ok_or(InvalidWalletAddress::Form)?;
        let mut bytes = [0; 20];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| InvalidWalletAddress::Form)?;
        let address = Self(bytes);
        let one_case = digits == digits.to_ascii_lowercase() || digits == digits.to_ascii_uppercase();
        if one_case || text == address.to_string() {
            Ok(address)
        } else {
            Err(InvalidWalletAddress::Checksum)
        }
    }
}

impl fmt::Display for WalletAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex::encode(self.0);
        let hash = hex::encode(Keccak256::digest(&digits));
        f.write_str("0x")?;
        digits.chars().zip(hash.chars()).try_for_each(|(digit, hash)| {
            let upper = hash.to_digit(16).is_some_and(|hash| hash >= 8);
            write!(f, "{}", if upper { digit.to_ascii_uppercase() } else { digit })
        })
    }
}

checked!(WalletAddress: String, InvalidWalletAddress, |text| text.parse(), |address| address.to_string());
inline_schema!(WalletAddress, { "type": "string", "pattern": WalletAddress::PATTERN });

crate::row::columns! {
    WalletAddress: String, |text| Ok(text.parse()?);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_with_their_checksum() {
        // The examples of EIP-55.
        for text in [
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
            "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
            "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
        ] {
            let address: WalletAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(address.lower_case().parse(), Ok(address));
            assert_eq!(format!("0x{}", text[2..].to_uppercase()).parse(), Ok(address));
        }
    }

    #[test]
    fn other_text_is_rejected() {
        let wrong_case = "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
        assert_eq!(wrong_case.parse::<WalletAddress>(), Err(InvalidWalletAddress::Checksum));
        for text in ["", "0x", "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5aAeb6", "0xé", " 0x00"] {
            assert_eq!(text.parse::<WalletAddress>(), Err(InvalidWalletAddress::Form), "{text}");
        }
    }
}
