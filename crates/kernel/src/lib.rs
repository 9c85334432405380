//! What a poll is, and what a tool is. No I/O lives here: voters, clock, randomness, storage and
//! events are ports ([`ports`]) that the outside hands in.

pub mod polling;
