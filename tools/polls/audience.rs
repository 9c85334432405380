//! The readers of a poll's notices.

/// A reader of notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The poll's owner, who also reads about settings of the request and of the service.
    Owner,
    /// Everybody with the link.
    Everybody,
}
