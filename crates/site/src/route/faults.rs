//! Kinds of error of routes that are not operations.

use ep_kernel::Kind;

/// The errors of a document that some configurations lack.
pub(super) const ABSENT: &[Kind] = &[Kind::NotFound];

/// The errors of most pages.
pub(super) const PAGE: &[Kind] = &[Kind::NotFound, Kind::InvalidInput, Kind::Busy, Kind::Unavailable];

/// The errors of a document from the issuer of access tokens.
pub(super) const OF_ISSUER: &[Kind] = &[Kind::NotFound, Kind::Unavailable];

/// The errors of a sign-in with a browser.
pub(super) const REDIRECT: &[Kind] = &[Kind::Unauthenticated, Kind::NotConfigured, Kind::Unavailable];

/// The errors of a health check.
pub(super) const PROBE: &[Kind] = &[Kind::Unavailable];

/// The errors of a payment processor's webhook.
pub(super) const WEBHOOK: &[Kind] = &[Kind::NotConfigured, Kind::Unavailable];

/// The errors of a payment with a proof.
pub(super) const PAYMENT: &[Kind] =
    &[Kind::AccountFrozen, Kind::Conflict, Kind::NotConfigured, Kind::Unavailable];

/// The errors of an endpoint that calls operations.
pub(super) const PROTOCOL: &[Kind] = &[
    Kind::NotFound,
    Kind::NotAcceptable,
    Kind::Conflict,
    Kind::InProgress,
    Kind::InsufficientBalance,
    Kind::IdempotencyMismatch,
    Kind::Busy,
    Kind::PollFailed,
    Kind::NotConfigured,
    Kind::Unavailable,
    Kind::StorageFull,
];
