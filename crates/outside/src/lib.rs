//! The service's partners: who signs in ([`identity`]) and how accounts are funded ([`payments`]). They implement ports of
//! [`ep_kernel::ports`].

pub mod identity;
pub mod payments;
