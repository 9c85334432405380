//! Adaptors of outside services: identity ([`identity`]) and payments ([`payments`]). They implement ports of
//! [`ep_kernel::ports`].

pub mod identity;
pub mod payments;
