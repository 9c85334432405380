//! MCP over standard input and output.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ep_kernel::Entry;
use ep_kernel::app::App;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, ReadBuf, Stdin};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::handler::{Handler, StdioCalls, Transport};
use super::toolset::Toolset;

/// Time to finish requests sent just before the end of the input. The library itself waits for seconds.
const DRAIN: Duration = Duration::from_millis(400);

/// Maximum wait for cancelled calls to cancel their polls. Calls with an idempotency key continue after it.
const CANCELLATION_GRACE: Duration = Duration::from_millis(300);

/// Serves MCP on standard input and output until the client closes the input. It then cancels open calls and their polls.
/// The next process resumes polls with an idempotency key and polls that were returned as running. `toolsets` are names of
/// toolsets, separated by commas.
pub async fn serve_stdio(app: Arc<App>, tools: &'static [Entry], toolsets: &str) -> anyhow::Result<()> {
    let calls = StdioCalls {
        toolset: Toolset::named(toolsets)?,
        cancelled: CancellationToken::new(),
        ongoing: TaskTracker::new(),
    };
    let handler = Handler::new(app, tools, Transport::Stdio(calls.clone()));
    let ended = CancellationToken::new();
    let input = Input { stdin: tokio::io::stdin(), ended: ended.clone() };
    let running = match handler.serve((input, tokio::io::stdout())).await {
        Ok(running) => running,
        // Closed before the first message: the host only probed.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let drained = async {
        ended.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    };
    let quit = tokio::select! {
        quit = running.waiting() => quit.map(drop),
        () = drained => Ok(()),
    };
    calls.cancelled.cancel();
    calls.ongoing.close();
    if tokio::time::timeout(CANCELLATION_GRACE, calls.ongoing.wait()).await.is_err() {
        tracing::debug!(calls = calls.ongoing.len(), "open calls continue in the next process");
    }
    Ok(quit?)
}

/// Standard input that reports its end.
struct Input {
    stdin: Stdin,
    ended: CancellationToken,
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stdin).poll_read(cx, buffer));
        if read.is_err() || (buffer.filled().len() == before && buffer.remaining() > 0) {
            self.ended.cancel();
        }
        Poll::Ready(read)
    }
}
