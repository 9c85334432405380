//! Calls of a service that is busy or out of reach: repeated with growing waits.

use std::time::Duration;

use ep_kernel::Fault;

/// Attempts to reach a service that is busy.
const MAX_WAITS: u32 = 30;
const SHORTEST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Repeats a call while its fault says that the same call may succeed later. Waits as long as the service asks to.
pub(crate) async fn patiently<T>(mut attempt: impl AsyncFnMut() -> Result<T, Fault>) -> Result<T, Fault> {
    let (mut wait, mut waits) = (SHORTEST_WAIT, 0);
    loop {
        let fault = match attempt().await {
            Ok(reply) => return Ok(reply),
            Err(fault) => fault,
        };
        if !fault.kind().row().retryable || waits == MAX_WAITS {
            return Err(fault);
        }
        tokio::time::sleep(fault.wait().map_or(wait, |advised| advised.max(wait))).await;
        (wait, waits) = ((wait * 2).min(LONGEST_WAIT), waits + 1);
    }
}
