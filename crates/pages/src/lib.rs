//! Everything that is read: documents, pages, and the picture of a poll. No protocol is named here, and none names this
//! package.

#[cfg(test)]
extern crate self as ep_pages; // Gives samples the same path in all tests.

#[cfg(test)]
mod colours;
pub mod documents;
pub mod share_image;
pub mod web;
