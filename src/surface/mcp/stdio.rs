//! MCP over standard input and output.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ep_kernel::app::App;
use ep_kernel::tool::Entry;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, ReadBuf, Stdin};
use tokio_util::sync::CancellationToken;

use super::handler::{Handler, Transport};
use super::toolset::Toolset;

/// Time for responses to requests that were sent just before the end of the input. The library itself waits for seconds.
const DRAIN: Duration = Duration::from_millis(400);

/// Serves MCP on standard input and output until the client closes the input. Polls that still run then are left to the
/// next process. `toolsets` are names of toolsets, separated by commas.
pub async fn serve_stdio(app: Arc<App>, tools: &'static [Entry], toolsets: &str) -> anyhow::Result<()> {
    let handler = Handler::new(app, tools, Transport::Stdio(Toolset::named(toolsets)?));
    let ended = CancellationToken::new();
    let input = Input { stdin: tokio::io::stdin(), ended: ended.clone() };
    let running = match handler.serve((input, tokio::io::stdout())).await {
        Ok(running) => running,
        // Closed before the first message: a host that only probed.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let drained = async {
        ended.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        quit = running.waiting() => drop(quit?),
        () = drained => {}
    }
    Ok(())
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
