//! Ids of batches and files, in the spelling of OpenAI's API.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::ids::{digits, prefixed_id};

prefixed_id! {
    /// A batch: `batch_` and 32 hexadecimal digits.
    BatchId: "batch_", NotAnId
}

/// A file that an account has stored, or one that contains the results of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileId {
    /// A stored file: `file-` and 32 hexadecimal digits.
    Stored(Uuid),
    /// The completed rows of a batch: `file-output-` and the digits of the batch.
    Output(BatchId),
    /// The failed rows of a batch: `file-errors-` and the digits of the batch.
    Errors(BatchId),
}

/// The error of reading an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no id of a batch or a file")]
pub struct NotAnId;

const FILE: &str = "file-";
const OUTPUT: &str = "output-";
const ERRORS: &str = "errors-";

impl BatchId {
    /// Returns the reference of the polls of a row.
    pub fn reference(self, number: u32) -> String {
        format!("{self}-{number}")
    }

    /// Returns the id of the response to a row, for people who compare logs.
    pub fn row(self, number: u32) -> String {
        format!("batch_req_{}_{number}", self.0.simple())
    }
}

impl FileId {
    /// Creates the id of a stored file from 16 random bytes.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self::Stored(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored(id) => write!(f, "{FILE}{}", id.simple()),
            Self::Output(batch) => write!(f, "{FILE}{OUTPUT}{}", batch.0.simple()),
            Self::Errors(batch) => write!(f, "{FILE}{ERRORS}{}", batch.0.simple()),
        }
    }
}

impl FromStr for FileId {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let rest = text.strip_prefix(FILE).ok_or(NotAnId)?;
        let id = if let Some(batch) = rest.strip_prefix(OUTPUT) {
            digits(batch).map(|id| Self::Output(BatchId(id)))
        } else if let Some(batch) = rest.strip_prefix(ERRORS) {
            digits(batch).map(|id| Self::Errors(BatchId(id)))
        } else {
            digits(rest).map(Self::Stored)
        };
        id.ok_or(NotAnId)
    }
}

crate::row::columns! {
    FileId: String, |text| Ok(text.parse()?), |id| id.to_string();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_written_and_others_are_rejected() {
        let batch = BatchId::from_random([7; 16]);
        assert_eq!(batch.to_string(), "batch_07070707070747078707070707070707");
        assert_eq!(batch.to_string().parse(), Ok(batch));
        for file in [FileId::from_random([9; 16]), FileId::Output(batch), FileId::Errors(batch)] {
            assert_eq!(file.to_string().parse(), Ok(file));
        }
        for wrong in [
            "",
            "batch_",
            "batch_0707",
            "file-x",
            "file-output-",
            "batch_07070707-0707-4707-8707-070707070707",
        ] {
            assert_eq!(
                (wrong.parse::<BatchId>(), wrong.parse::<FileId>()),
                (Err(NotAnId), Err(NotAnId)),
                "{wrong}"
            );
        }
    }
}
