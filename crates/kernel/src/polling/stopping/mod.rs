//! When a poll may stop.
