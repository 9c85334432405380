//! One HTTP connection, from its first byte to its end.

use std::convert::Infallible;
use std::fmt::Display;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulConnection;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// Time limit for the graceful shutdown of a silent connection.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval of HTTP/2 pings.
const PING_INTERVAL: Duration = Duration::from_secs(75);

/// Configuration of HTTP connections.
pub(super) struct Http {
    first: http1::Builder,
    any: auto::Builder<TokioExecutor>,
}

impl Http {
    pub(super) fn new() -> Self {
        let (mut first, mut any) = (http1::Builder::new(), auto::Builder::new(TokioExecutor::new()));
        // `OpenRequests::idle_timeout` closes silent connections of every protocol.
        first.header_read_timeout(None);
        any.http1().header_read_timeout(None);
        any.http2().timer(TokioTimer::new()).keep_alive_interval(Some(PING_INTERVAL));
        Self { first, any }
    }

    /// Serves one connection until it ends, the service stops, or it has been `silent` for too long.
    pub(super) async fn serve<S>(
        &self,
        stream: TcpStream,
        service: S,
        stopping: &CancellationToken,
        mut silent: Pin<&mut impl Future<Output = ()>>,
    ) where
        S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send + 'static>,
    {
        let is_http1 = tokio::select! {
            is_http1 = is_http1(&stream) => is_http1,
            () = stopping.cancelled() => return,
            () = &mut silent => return metrics::counter!("ep_connections_silent_total").increment(1),
        };
        let stream = TokioIo::new(stream);
        if is_http1 {
            finish(Box::pin(self.first.serve_connection(stream, service)), stopping, silent).await;
        } else {
            finish(Box::pin(self.any.serve_connection(stream, service)), stopping, silent).await;
        }
    }
}

/// True if a connection certainly uses HTTP/1: HTTP/2 begins with `PRI` (RFC 9113, section 3.4), unlike every method.
/// Peeking without reading saves half of the buffer of such connections.
async fn is_http1(stream: &TcpStream) -> bool {
    let mut first = [0; 2];
    let peeked = stream.peek(&mut first).await;
    peeked.is_ok_and(|length| !b"PR".starts_with(&first[..length]))
}

pub(super) async fn finish<C>(
    mut connection: Pin<Box<C>>,
    stopping: &CancellationToken,
    silent: Pin<&mut impl Future<Output = ()>>,
) where
    C: GracefulConnection<Error: Display>,
{
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = silent => {
            metrics::counter!("ep_connections_silent_total").increment(1);
            // GOAWAY tells HTTP/2 clients which requests will not be processed (RFC 9113 §6.8).
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(CLOSE_TIMEOUT, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = %error, "a connection ended with an error");
    }
}
