//! The operations of a service, as labels need them.

use ep_kernel::{Entry, Fault};
use serde_json::Value;

/// Calls operations of a service: in this process, or at a server.
pub trait Operations {
    /// Calls an operation.
    ///
    /// # Errors
    ///
    /// The operation fails, or the service is unreachable.
    fn call(
        &self,
        operation: &'static Entry,
        input: Value,
    ) -> impl Future<Output = Result<Value, Fault>> + Send;

    /// Calls an operation once for each reference: a repetition gets the same reply.
    ///
    /// # Errors
    ///
    /// The operation fails, or the service is unreachable.
    fn call_once(
        &self,
        operation: &'static Entry,
        input: Value,
        reference: &str,
    ) -> impl Future<Output = Result<OnceReply, Fault>> + Send;
}

/// The reply to a call with a reference.
#[derive(Debug)]
pub struct OnceReply {
    /// The output of the operation.
    pub value: Value,
    /// True if it repeats the reply to an earlier call with the reference.
    pub is_replayed: bool,
}
