//! Calls of operations for pages.

use ep_kernel::dispatch;
use ep_kernel::guard::Admission;
use ep_kernel::{Call, Fault, Tool};
use ep_site::http::{AppState, RequestHead};
use ep_tools::entry_of;

/// Calls an operation for an admitted caller, and returns its output.
pub(super) async fn ask<T: Tool>(
    state: &AppState,
    head: &RequestHead,
    admission: &Admission,
    input: T::Input,
) -> Result<T::Output, Fault> {
    let call = Call::new(head.admitted("web", admission.clone()));
    Ok(dispatch::call::<T>(&state.app, entry_of::<T>()?, call, input).await?.output)
}
