//! Reads responses of other servers, up to a maximum length.

use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

use crate::decoding::{DecodingError, decoded};

/// The error of reading a response.
#[derive(Debug, thiserror::Error)]
pub enum ResponseError {
    /// The server is unreachable or timed out.
    #[error("the server is unreachable")]
    Unreachable(#[source] reqwest::Error),
    /// The response is too long.
    #[error("the server's response is longer than {0} bytes")]
    TooLong(usize),
    /// The response is compressed in an unknown way, or damaged.
    #[error("the server's response is compressed, and could not be decompressed")]
    Encoding,
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

/// Reads a body of at most `most` bytes, before and after it is decompressed.
pub async fn read_decoded(response: Response, most: usize) -> Result<Vec<u8>, ResponseError> {
    let encodings = response.headers().get_all(CONTENT_ENCODING).iter();
    let encodings = encodings.filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(",");
    let body = read(response, most).await?;
    decoded(&encodings, body, most).map_err(|error| match error {
        DecodingError::TooLong => ResponseError::TooLong(most),
        DecodingError::Unreadable => ResponseError::Encoding,
    })
}
