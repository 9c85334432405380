//! Answers of other servers, read as far as they may be long.

use reqwest::Response;

/// Why an answer could not be read.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The server could not be reached, or did not answer in time.
    #[error("the server could not be reached")]
    Unreachable(#[source] reqwest::Error),
    /// The answer is too long.
    #[error("the server's answer is longer than {0} bytes")]
    TooLong(usize),
}

impl AnswerError {
    /// The URL of the request is left out: it may hold a secret.
    pub fn unreachable(error: reqwest::Error) -> Self {
        Self::Unreachable(error.without_url())
    }
}

/// Reads a body of at most `most` bytes.
pub async fn read(mut response: Response, most: usize) -> Result<Vec<u8>, AnswerError> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(AnswerError::unreachable)? {
        body.extend_from_slice(&part);
        if body.len() > most {
            return Err(AnswerError::TooLong(most));
        }
    }
    Ok(body)
}
