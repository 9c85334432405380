//! A PostgreSQL server for tests, so that tests of the PostgreSQL engine need no setup and are never skipped.
//!
//! `EP_TEST_POSTGRES_URL` names a server to create databases on. Without it, each test process starts a
//! private server from the installed binaries, in a temporary folder, on a Unix socket. If the tests run as
//! root, the server runs as another user, because PostgreSQL rejects root. A watchdog process holds the end
//! of a pipe. The pipe breaks when the test process ends for any reason; the watchdog then stops the server
//! and removes the folder.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};

/// The environment variable with the URL of a server to create test databases on.
pub const SERVER: &str = "EP_TEST_POSTGRES_URL";
const START_TIMEOUT: Duration = Duration::from_mins(1);
const NO_SERVER: &str = "no PostgreSQL for the tests: install it (Debian: apt-get install postgresql), or name a \
     server to create databases on in EP_TEST_POSTGRES_URL (postgres://user:password@host/postgres)";

/// $1 is the folder, $2 the folder of the binaries.
const WATCHDOG: &str = r#"
as=""
if [ "$(id -u)" = 0 ]; then
    if id -u postgres >/dev/null 2>&1; then user=postgres; else user=nobody; fi
    if command -v setpriv >/dev/null 2>&1; then
        as="setpriv --reuid=$(id -u $user) --regid=$(id -g $user) --clear-groups"
    else
        as="runuser -u $user --"
    fi
    chown "$user" "$1"
fi
cd "$1" || exit 1
$as "$2/initdb" -D "$1/data" -A trust -U postgres -E UTF8 --locale=C -N >"$1/log" 2>&1 || exit 1
$as "$2/postgres" -D "$1/data" -k "$1" -c listen_addresses= -c fsync=off -c max_connections=300 \
    -c shared_buffers=64MB </dev/null >>"$1/log" 2>&1 &
server=$!
read -r _
kill -QUIT "$server"
wait "$server"
cd / && rm -rf "$1"
"#;

/// A server for this process's tests.
pub struct Postgres {
    server: PgConnectOptions,
    /// Set for a server started here; on any other server, databases are dropped after use.
    private: Option<PrivateServer>,
}

struct PrivateServer {
    folder: PathBuf,
    _watchdog: Child,
}

/// An empty database for one test.
pub struct Database {
    url: String,
    name: String,
    /// The server to drop it from after use.
    server: Option<PgConnectOptions>,
}

impl Postgres {
    /// Returns the server of this process, started by the first call.
    pub fn start() -> Result<&'static Self, String> {
        static SHARED: OnceLock<Result<Postgres, String>> = OnceLock::new();
        SHARED.get_or_init(Self::find).as_ref().map_err(Clone::clone)
    }

    fn find() -> Result<Self, String> {
        if let Ok(url) = std::env::var(SERVER) {
            let server = url.parse().map_err(|_| format!("{SERVER} must be a postgres:// URL"))?;
            return Ok(Self { server, private: None });
        }
        let binaries = binaries().ok_or(NO_SERVER)?;
        let folder = tempfile::Builder::new().prefix("ep-postgres-").tempdir().map_err(|e| e.to_string())?;
        let folder = folder.keep();
        let watchdog = watch(&folder, &binaries).map_err(|error| format!("{NO_SERVER} ({error})"))?;
        let server = PgConnectOptions::new_without_pgpass()
            .socket(&folder)
            .port(5432)
            .username("postgres")
            .database("postgres");
        Ok(Self { server, private: Some(PrivateServer { folder, _watchdog: watchdog }) })
    }

    /// Creates an empty database.
    pub async fn database(&self) -> Result<Database, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        #[expect(clippy::disallowed_methods, reason = "only names a database of a test")]
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name =
            format!("ep_test_{}_{nanos:x}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut db = self.connection().await?;
        db.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.map_err(|e| e.to_string())?;
        let _ = db.close().await;
        let mut url = self.server.clone().database(&name).to_url_lossy();
        if let Some(private) = &self.private {
            // A socket's folder cannot be the host part of a URL.
            url = format!("postgres://postgres@localhost/{name}?host={}", private.folder.display())
                .parse()
                .map_err(|_| "the folder is not valid in a URL".to_owned())?;
        }
        let server = self.private.is_none().then(|| self.server.clone());
        Ok(Database { url: url.into(), name, server })
    }

    /// Waits for the server to start.
    async fn connection(&self) -> Result<sqlx::PgConnection, String> {
        let since = Instant::now();
        loop {
            match self.server.connect().await {
                Ok(db) => return Ok(db),
                Err(error) if since.elapsed() > START_TIMEOUT || self.private.is_none() => {
                    let log = self.private.as_ref().map(|private| private.folder.join("log"));
                    let log = log.and_then(|log| std::fs::read_to_string(log).ok()).unwrap_or_default();
                    return Err(format!("no response from the test server: {error}\n{log}"));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

impl Database {
    /// Returns the URL of the database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the content as a script with a statement for each row.
    pub fn dump(&self) -> Result<String, String> {
        let program = binaries().ok_or(NO_SERVER)?.join("pg_dump");
        let mut dump = Command::new(program);
        let dumped =
            dump.args(["--inserts", "--no-owner", "--no-privileges", "--dbname", &self.url]).output();
        let dumped = dumped.map_err(|error| error.to_string())?;
        if !dumped.status.success() {
            return Err(String::from_utf8_lossy(&dumped.stderr).into_owned());
        }
        String::from_utf8(dumped.stdout).map_err(|error| error.to_string())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some(server) = self.server.take() else { return };
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // The test's runtime may have ended, or be busy dropping this value.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                if let Ok(mut db) = server.connect().await {
                    let _ = db.execute(AssertSqlSafe(sql)).await;
                }
            });
        });
        let _ = dropping.join();
    }
}

/// Returns the folder of `initdb` and `postgres`: of the newest Debian package, or in the path.
fn binaries() -> Option<PathBuf> {
    let complete = |folder: &PathBuf| ["initdb", "postgres"].iter().all(|name| folder.join(name).is_file());
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<(u32, PathBuf)> = debian
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    debian.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian
        .into_iter()
        .rev()
        .map(|(_, folder)| folder)
        .chain(std::env::split_paths(&path).collect::<Vec<_>>())
        .find(complete)
}

fn watch(folder: &Path, binaries: &Path) -> std::io::Result<Child> {
    use std::os::unix::process::CommandExt;

    let log = File::create(folder.join("watchdog.log"))?;
    Command::new("sh")
        .args(["-c", WATCHDOG, "watchdog"])
        .args([folder, binaries])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log)
        // Ctrl-C should reach only the tests.
        .process_group(0)
        .spawn()
}
