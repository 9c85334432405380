//! A PostgreSQL proxy that cuts connections around commits.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use super::dice::Dice;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A simple query (PostgreSQL's protocol 3.0, "Message Formats").
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
/// Execute of the unnamed portal without a row limit: most statements, many of them autocommitted.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";

/// A proxy that cuts connections at random while cutting is enabled.
pub struct Proxy {
    /// The database's URL through the proxy.
    pub url: String,
    shared: Arc<ProxyState>,
    _server: AbortOnDropHandle<()>,
}

struct ProxyState {
    dice: Dice,
    /// The database's direct URL.
    database: Url,
    cuts: AtomicBool,
    /// The number of cuts before a commit was sent and after it was committed.
    before: AtomicUsize,
    after: AtomicUsize,
}

impl Proxy {
    pub async fn start(dice: Dice, database: &str) -> Self {
        let database: Url = database.parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut url = database.clone();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        url.set_query(Some("sslmode=disable"));
        let cuts = AtomicBool::new(false);
        let (before, after) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let shared = Arc::new(ProxyState { dice, database, cuts, before, after });
        let serving = Arc::clone(&shared);
        let server = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let shared = Arc::clone(&serving);
                tokio::spawn(async move { drop(shared.pass_on(client).await) });
            }
        });
        Self { url: url.into(), shared, _server: AbortOnDropHandle::new(server) }
    }

    /// Enables or disables cutting.
    pub fn cut(&self, cuts: bool) {
        self.shared.cuts.store(cuts, Ordering::SeqCst);
    }

    /// Returns the number of connections cut before a commit was sent and after it was committed.
    pub fn cuts(&self) -> (usize, usize) {
        let ProxyState { before, after, .. } = &*self.shared;
        (before.load(Ordering::SeqCst), after.load(Ordering::SeqCst))
    }
}

impl ProxyState {
    async fn server(&self) -> std::io::Result<Box<dyn Stream>> {
        let port = self.database.port().unwrap_or(5432);
        let folder = self.database.query_pairs().find(|(name, _)| name == "host");
        Ok(match (folder, self.database.host_str()) {
            (Some((_, folder)), _) => {
                Box::new(UnixStream::connect(Path::new(&*folder).join(format!(".s.PGSQL.{port}"))).await?)
            }
            (None, host) => Box::new(TcpStream::connect((host.unwrap_or("localhost"), port)).await?),
        })
    }

    /// True if a connection is cut before sending these bytes.
    fn cuts_at(&self, sent: &[u8]) -> bool {
        let holds = |message: &[u8]| sent.windows(message.len()).any(|window| window == message);
        self.cuts.load(Ordering::SeqCst)
            && (holds(COMMIT) && self.dice.below(3) == 0 || holds(EXECUTE) && self.dice.below(20) == 0)
    }

    async fn pass_on(&self, mut client: TcpStream) -> std::io::Result<()> {
        client.set_nodelay(true)?;
        let mut server = self.server().await?;
        let (mut sent, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            tokio::select! {
                length = client.read(&mut sent) => {
                    let sent = &sent[..length?];
                    if sent.is_empty() {
                        return Ok(());
                    }
                    let cuts = self.cuts_at(sent);
                    if cuts && self.dice.below(2) == 0 {
                        self.before.fetch_add(1, Ordering::SeqCst);
                        return Ok(());
                    }
                    server.write_all(sent).await?;
                    if cuts {
                        // The response shows that the commit succeeded; it is not forwarded.
                        let committed = server.read(&mut answered).await? > 0;
                        self.after.fetch_add(usize::from(committed), Ordering::SeqCst);
                        return Ok(());
                    }
                }
                length = server.read(&mut answered) => match length? {
                    0 => return Ok(()),
                    length => client.write_all(&answered[..length]).await?,
                }
            }
        }
    }
}
