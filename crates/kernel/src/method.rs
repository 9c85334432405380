//! HTTP methods used by operations.

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// GET: input from path and query.
    Get,
    /// POST: input from path and JSON body.
    Post,
    /// DELETE: input from path and query.
    Delete,
}

impl Method {
    /// Returns the method as in HTTP.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}
