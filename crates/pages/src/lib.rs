//! Documents, pages, and the share image of a poll. This package and `ep-protocols` do not use each other.

#[cfg(test)]
extern crate self as ep_pages; // Gives samples the same path in all tests.

#[cfg(test)]
mod colours;
pub mod documents;
pub mod share_image;
pub mod web;
