//! The ep binary.
fn main() {}
