//! Reads responses of other servers, up to a maximum length.

use reqwest::Response;

/// The error of reading a response.
#[derive(Debug, thiserror::Error)]
pub enum ResponseError {
    /// The server is unreachable or timed out.
    #[error("the server is unreachable")]
    Unreachable(#[source] reqwest::Error),
    /// The response is too long.
    #[error("the server's response is longer than {0} bytes")]
    TooLong(usize),
}

impl ResponseError {
    /// Creates the error without the URL of the request, which may contain a secret.
    pub fn unreachable(error: reqwest::Error) -> Self {
        Self::Unreachable(error.without_url())
    }
}

/// Reads a body of at most `most` bytes.
pub async fn read(mut response: Response, most: usize) -> Result<Vec<u8>, ResponseError> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(ResponseError::unreachable)? {
        body.extend_from_slice(&part);
        if body.len() > most {
            return Err(ResponseError::TooLong(most));
        }
    }
    Ok(body)
}
