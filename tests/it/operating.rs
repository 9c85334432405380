//! Operation of `ep serve`: keys, secrets from files, probes, logs and metrics.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ep_upstream::testing::{Script, ScriptedUpstream};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::harness::{Client, Service, Setup, question, until};

fn ep(data: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
    command.args(arguments).env_clear().env("EP_DATA_DIR", data).env("EP_DEMO_PACE", "0");
    command.env("EP_LOG_FORMAT", "json").current_dir(data).kill_on_drop(true);
    command.envs(variables.iter().copied());
    command
}

/// A server process and its log output.
struct Server {
    process: Child,
    url: String,
    metrics: Option<String>,
    lines: Arc<Mutex<Vec<String>>>,
    reading: JoinHandle<()>,
}

impl Server {
    async fn start(mut command: Command) -> Self {
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let (mut seen, mut url, mut metrics) = (Vec::new(), None, None);
        while url.is_none() {
            let line = tokio::time::timeout(Duration::from_secs(30), lines.next_line()).await;
            let line = line.unwrap().unwrap().unwrap_or_else(|| panic!("it has ended: {seen:#?}"));
            let fields = serde_json::from_str::<Value>(&line).unwrap_or_default()["fields"].clone();
            let at = fields["address"]
                .as_str()
                .map(|address| format!("http://{}", address.replace("0.0.0.0", "127.0.0.1")));
            match fields["message"].as_str() {
                Some("listening") => url = at,
                Some("metrics at /metrics") => metrics = at,
                _ => {}
            }
            seen.push(line);
        }
        let seen = Arc::new(Mutex::new(seen));
        let reading = tokio::spawn({
            let seen = Arc::clone(&seen);
            async move {
                while let Ok(Some(line)) = lines.next_line().await {
                    seen.lock().unwrap().push(line);
                }
            }
        });
        Self { process, url: url.unwrap(), metrics, lines: seen, reading }
    }

    fn terminate(&self) {
        let id = rustix::process::Pid::from_raw(self.process.id().unwrap() as i32).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits until the process has exited and returns the parsed log lines.
    async fn log(mut self) -> Vec<Value> {
        self.process.wait().await.unwrap();
        (&mut self.reading).await.unwrap();
        self.logged()
    }

    /// Returns the parsed log lines so far.
    fn logged(&self) -> Vec<Value> {
        let lines = self.lines.lock().unwrap();
        lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
            .collect()
    }
}

/// Waits until the service is ready: on a busy machine, one database probe may time out.
async fn ready(client: &Client) {
    until("the service is ready", async || client.get("/readyz").await, |reply| reply.status == 200).await;
}

fn messages(log: &[Value], text: &str) -> Vec<Value> {
    let fields = log.iter().map(|line| line["fields"].clone());
    fields.filter(|fields| fields["message"].as_str().is_some_and(|message| message.contains(text))).collect()
}

/// Returns the number of events in a log: those with a line of this text, and those suppressed in it or in its sums.
fn events(log: &[Value], text: &str, sum: &str) -> usize {
    let lines = messages(log, text);
    let suppressed = |line: &Value| line["suppressed"].as_u64().unwrap() as usize;
    lines.len() + lines.iter().chain(&messages(log, sum)).map(suppressed).sum::<usize>()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn empty_data_directory_gets_a_key_file_on_every_address() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(ep(data.path(), &["serve", "--listen", "0.0.0.0:0"], &[])).await;
    ready(&Client::new(&server.url, None)).await;
    let file = data.path().join("secret.key");
    let key = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        (key.trim().len(), std::fs::metadata(&file).unwrap().permissions().mode() & 0o777),
        (64, 0o600)
    );
    server.terminate();
    let log = server.log().await;
    let created = messages(&log, "created the secret key");
    assert_eq!(created.len(), 1, "{log:#?}");
    assert_eq!(created[0]["file"], file.to_str().unwrap());
    assert!(created[0]["message"].as_str().unwrap().contains("every replica"), "{created:?}");
    assert!(!format!("{log:?}").contains(key.trim()));
    // The next start uses the same key.
    let server = Server::start(ep(data.path(), &["serve", "--listen", "127.0.0.1:0"], &[])).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), key);
    server.terminate();
    assert_eq!(messages(&server.log().await, "created").len(), 0);
}

/// A root file system with the program, its shared libraries, the certificates of authorities, and a data folder: the
/// only one in which the program may write.
struct BareRoot(tempfile::TempDir);

impl BareRoot {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_ep"));
        let linked = std::process::Command::new("ldd").arg(program).output().unwrap();
        let linked = String::from_utf8(linked.stdout).unwrap();
        let libraries = linked.split_whitespace().filter(|word| word.starts_with('/'));
        let certificates = "/etc/ssl/certs/ca-certificates.crt";
        for file in libraries.chain([certificates]) {
            let copy = root.path().join(file.trim_start_matches('/'));
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::copy(file, copy).unwrap();
        }
        let copy = root.path().join("ep");
        std::fs::hard_link(program, &copy).or_else(|_| std::fs::copy(program, &copy).map(drop)).unwrap();
        let data = root.path().join("data");
        std::fs::create_dir(&data).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&data, Some(65534), Some(65534)).unwrap();
        }
        std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
        Self(root)
    }

    /// A command of the program in this root, as a user that may write in the data folder only.
    fn ep(&self, arguments: &[&str]) -> Command {
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("chroot");
            command.arg("--userspec=65534:65534").arg(self.0.path());
            command
        } else {
            let mut command = Command::new("unshare");
            command.args(["--user", "--map-user=65534", "--root"]).arg(self.0.path());
            command
        };
        command.arg("/ep").args(arguments).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.envs([("EP_DATA_DIR", "/data"), ("EP_DEMO_PACE", "0"), ("EP_LOG_FORMAT", "json")]);
        command.kill_on_drop(true);
        command
    }
}

impl Drop for BareRoot {
    fn drop(&mut self) {
        let _ = std::fs::set_permissions(self.0.path(), std::fs::Permissions::from_mode(0o755));
    }
}

/// SQLite otherwise puts its temporary files in a folder of the system, and fails without one.
#[tokio::test]
async fn service_needs_no_writable_folder_but_the_data() {
    let root = BareRoot::new();
    let created =
        root.ep(&["admin", "create-user", "--email", "a@example.org", "--credit-usd", "1", "--json"]);
    let created = { created }.output().await.unwrap();
    assert!(created.status.success(), "{}", stderr(&created));
    let created: Value = serde_json::from_slice(&created.stdout).unwrap();
    let server = Server::start(root.ep(&["serve", "--listen", "127.0.0.1:0"])).await;
    let client = Client::new(&server.url, None).with_key(created["api_key"].as_str().unwrap());
    ready(&client).await;
    let poll = client.post("/api/poll", &question(json!({}))).await.expect(200);
    let id = poll["poll_id"].as_str().unwrap();
    client.get(&format!("/api/results/{id}")).await.expect(200);
    for arguments in [&["admin", "audit"][..], &["backup", "/data/copy.db"]] {
        let done = root.ep(arguments).output().await.unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", stderr(&done));
    }
    server.terminate();
    assert_eq!(messages(&server.log().await, "failed"), Vec::<Value>::new());
}

#[tokio::test]
async fn links_name_the_port_that_the_system_has_chosen() {
    let data = tempfile::tempdir().unwrap();
    let listen = ["serve", "--listen", "127.0.0.1:0"];
    let server = Server::start(ep(data.path(), &listen, &[])).await;
    let url = server.url.clone();
    let linked = Client::new(&url, None).get("/api/openapi.json").await;
    assert_eq!(linked.json()["servers"][0]["url"], url);
    server.terminate();
    assert_eq!(messages(&server.log().await, "listening")[0]["base_url"], url);
    // A configured base URL stays as it is.
    let given = [&listen[..], &["--base-url", "http://localhost:1"]].concat();
    let server = Server::start(ep(data.path(), &given, &[])).await;
    server.terminate();
    assert_eq!(messages(&server.log().await, "listening")[0]["base_url"], "http://localhost:1");
}

/// A database that was used with a key that is now missing.
async fn refuses_a_new_key(url: Option<&str>) {
    let data = tempfile::tempdir().unwrap();
    let database: Vec<(&str, &str)> = url.map(|url| ("EP_DATABASE_URL", url)).into_iter().collect();
    let secret = "5a".repeat(32);
    let migrated = ep(data.path(), &["migrate"], &[&database[..], &[("EP_SECRET_KEY", &secret)]].concat())
        .output()
        .await;
    assert!(migrated.unwrap().status.success());
    let file = data.path().join("secret.key");
    assert!(!file.exists(), "a configured key needs no file");
    for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
        let refused = ep(data.path(), &["serve", "--listen", listen], &database).output().await.unwrap();
        let said = stderr(&refused);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(
            said.contains("in use") && said.contains("secret.key") && said.contains("EP_SECRET_KEY_FILE"),
            "{said}"
        );
        assert!(!file.exists() && !said.contains("hunter2"), "{said}");
    }
    let given = data.path().join("given");
    std::fs::write(&given, format!("{secret}\n")).unwrap();
    let by_file = [&database[..], &[("EP_SECRET_KEY_FILE", given.to_str().unwrap())]].concat();
    let server = Server::start(ep(data.path(), &["serve", "--listen", "127.0.0.1:0"], &by_file)).await;
    ready(&Client::new(&server.url, None)).await;
}

#[tokio::test]
async fn existing_database_gets_no_new_key_on_sqlite() {
    refuses_a_new_key(None).await;
}

#[tokio::test]
async fn existing_database_gets_no_new_key_on_postgres() {
    let database = ep_store::testing::Postgres::start().unwrap().database().await.unwrap();
    refuses_a_new_key(Some(database.url())).await;
}

#[tokio::test]
async fn stopping_service_is_alive_but_not_ready() {
    let mut script = Script::panel(10);
    script.default.latency = Duration::from_secs(4);
    let upstream = ScriptedUpstream::start(script).unwrap();
    let data = tempfile::tempdir().unwrap();
    let variables = [("EP_UPSTREAM_URL", &*upstream.base_url())];
    let made = ep(data.path(), &["admin", "create-user", "--email", "a@example.com", "--json"], &variables);
    let made: Value = serde_json::from_slice(&{ made }.output().await.unwrap().stdout).unwrap();
    let server = Server::start(ep(data.path(), &["serve", "--listen", "127.0.0.1:0"], &variables)).await;
    let client = Client::new(&server.url, made["api_key"].as_str().map(str::to_owned));
    ready(&client).await;
    let poll = tokio::spawn({
        let client = client.clone();
        async move { client.poll(json!({ "confidence_threshold": 1 })).await.expect(200) }
    });
    until("a model is called", async || upstream.total_calls(), |calls| *calls > 0).await;
    server.terminate();
    let late = Client::new(&server.url, client.key.clone());
    let probed = loop {
        let probed = late.get("/readyz").await;
        if probed.status == 503 && probed.text.contains("stopping") {
            break probed;
        }
    };
    assert_eq!(probed.header("retry-after"), "2");
    assert!(probed.refused(503).contains("stopping"));
    late.get("/healthz").await.expect(200);
    assert!(late.post("/api/poll", &question(json!({}))).await.refused(503).contains("stopping"));
    assert_eq!(poll.await.unwrap()["status"], "success", "open requests are finished");
    server.log().await;
}

/// Arguments and variables of a failing start, and words of the error.
type Failure<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], [&'a str; 2]);

#[tokio::test]
async fn json_log_lines_are_json_even_if_the_start_fails() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(ep(data.path(), &["serve", "--listen", "127.0.0.1:0"], &[])).await;
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let other = data.path().join("other");
    let failures: [Failure<'_>; 4] = [
        (&["serve", "--listen", &address], &[], [&address, "--listen"]),
        (
            &["serve", "--listen", "127.0.0.1:0"],
            &[("EP_METRICS_LISTEN", &address)],
            [&address, "EP_METRICS_LISTEN"],
        ),
        (&["serve"], &[("EP_RATE_LIMIT_PER_MINUTE", "many")], ["EP_RATE_LIMIT_PER_MINUTE", "whole number"]),
        (&["serve"], &[("EP_LOG", "ensemble=loud=1")], ["EP_LOG", "directives"]),
    ];
    for (arguments, variables, words) in failures {
        let variables = [variables, &[("EP_DATA_DIR", other.to_str().unwrap())]].concat();
        let failed = ep(data.path(), arguments, &variables).output().await.unwrap();
        let said = stderr(&failed);
        assert_eq!(failed.status.code(), Some(1), "{said}");
        let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        let error = lines.last().unwrap()["fields"]["error"].as_str().unwrap();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        // The same errors in the text format.
        let text = [&variables[..], &[("EP_LOG_FORMAT", "text")]].concat();
        let said = stderr(&ep(data.path(), arguments, &text).output().await.unwrap());
        assert!(said.lines().last().unwrap().starts_with("ep: "), "{said}");
    }
    server.terminate();
    let log = server.log().await;
    assert!(messages(&log, "Demo roster").len() == 1, "{log:#?}");
}

#[tokio::test]
async fn overload_logs_one_line_per_second() {
    let data = tempfile::tempdir().unwrap();
    let command = ep(
        data.path(),
        &["serve", "--listen", "127.0.0.1:0"],
        &[("EP_DEMO", "off"), ("EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE", "0")],
    );
    let server = Server::start(command).await;
    let client = Client::new(&server.url, None);
    let started = std::time::Instant::now();
    for _ in 0..150 {
        client.get("/api/models").await.refused(503);
    }
    let seconds = started.elapsed().as_secs() as usize;
    // Those without a line of their own are reported in sums.
    let counted = |log: &Vec<Value>| events(log, "call failed", "more calls failed");
    until("every failure is counted", async || server.logged(), |log| counted(log) >= 150).await;
    server.terminate();
    let log = server.log().await;
    let lines = messages(&log, "call failed");
    assert!((1..=seconds + 1).contains(&lines.len()), "{lines:#?}");
    assert_eq!(counted(&log), 150);
}

#[tokio::test]
async fn polls_without_a_database_log_one_line_per_second() {
    const POLLS: usize = 30;
    const RUNNING: usize = 20;
    let mut script = Script::panel(10);
    script.default.latency = Duration::from_secs(1);
    script.held = true;
    let upstream = ScriptedUpstream::start(script).unwrap();
    let data = tempfile::tempdir().unwrap();
    let running = RUNNING.to_string();
    let variables = [
        ("EP_UPSTREAM_URL", &*upstream.base_url()),
        ("EP_BILLING", "off"),
        ("EP_POLLS_RUNNING", &running),
        ("EP_LEASE_MS", "5000"),
    ];
    let made = ep(data.path(), &["admin", "create-user", "--email", "a@example.com", "--json"], &variables);
    let made: Value = serde_json::from_slice(&{ made }.output().await.unwrap().stdout).unwrap();
    let server = Server::start(ep(data.path(), &["serve", "--listen", "127.0.0.1:0"], &variables)).await;
    let client = Client::new(&server.url, made["api_key"].as_str().map(str::to_owned));
    for _ in 0..POLLS {
        client.post("/api/polls", &question(json!({ "confidence_threshold": 1 }))).await.expect(202);
    }
    until("models are called", async || upstream.total_calls(), |calls| *calls >= RUNNING).await;
    std::fs::remove_file(data.path().join("ensemble-poll.db")).unwrap();
    upstream.release(10_000);
    let lost = std::time::Instant::now();
    let interruptions = [
        ("poll interrupted", "more polls were interrupted"),
        ("the lease on this poll has ended", "more leases have ended"),
    ];
    // Their sums begin with the same words.
    let failures = ["the database is still failing", "failed to load cancelled polls"];
    let texts = interruptions.map(|(text, sum)| vec![text, sum]);
    let texts: Vec<Vec<&str>> = texts.into_iter().chain(failures.map(|text| vec![text])).collect();
    let lines =
        |log: &[Value], texts: &[&str]| -> usize { texts.iter().map(|text| messages(log, text).len()).sum() };
    let interrupted =
        |log: &[Value]| -> usize { interruptions.iter().map(|(text, sum)| events(log, text, sum)).sum() };
    // Polls that wait are interrupted, too, when their leases end.
    until(
        "every poll is interrupted, and all is in the log",
        async || server.logged(),
        |log| interrupted(log) >= POLLS && texts.iter().all(|texts| lines(log, texts) > 0),
    )
    .await;
    server.terminate();
    let log = server.log().await;
    let seconds = lost.elapsed().as_secs() as usize;
    for texts in &texts {
        let count = lines(&log, texts);
        assert!(count <= seconds + 1, "{count} of {texts:?} in {seconds} s: {log:#?}");
    }
}

/// Returns the names of a metrics page: those with HELP, those with TYPE and those of all samples.
fn families(page: &str) -> (BTreeSet<String>, BTreeSet<String>, BTreeSet<String>) {
    let named = |mark: &str| {
        let lines = page.lines().filter_map(|line| line.strip_prefix(mark));
        lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let samples = page.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let samples = samples.map(|line| line.split(['{', ' ']).next().unwrap().to_owned()).collect();
    (named("# HELP "), named("# TYPE "), samples)
}

#[tokio::test]
async fn metrics_are_described_and_exist_from_the_start() {
    let upstream = ScriptedUpstream::start(Script::panel(10)).unwrap();
    let data = tempfile::tempdir().unwrap();
    let url = upstream.base_url();
    let variables = [
        ("EP_UPSTREAM_URL", url.as_str()),
        ("EP_METRICS_LISTEN", "127.0.0.1:0"),
        ("EP_X402_FACILITATOR_URL", "http://127.0.0.1:9"),
        ("EP_X402_RPC_URL", "http://127.0.0.1:9"),
        ("EP_X402_NETWORK", "eip155:84532"),
        ("EP_X402_PAY_TO", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
    ];
    let made = ep(data.path(), &["admin", "create-user", "--email", "a@example.com", "--json"], &variables);
    let made: Value = serde_json::from_slice(&{ made }.output().await.unwrap().stdout).unwrap();
    let server = Server::start(ep(data.path(), &["serve", "--listen", "127.0.0.1:0"], &variables)).await;
    let metrics = Client::new(server.metrics.as_ref().unwrap(), None);
    let page = metrics.get("/metrics").await;
    assert_eq!(page.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let upstream_label = url.split('/').nth(2).unwrap();
    let mut zero = vec![
        "ep_card_payments_total 0".to_owned(),
        "ep_usdc_deposits_total 0".to_owned(),
        "ep_leases_lost_total 0".to_owned(),
        format!("ep_upstream_latency_seconds_count{{upstream=\"{upstream_label}\"}} 0"),
    ];
    for result in
        ["answered", "rate_limited", "refused", "failed", "timeout", "too_long", "not_sent", "unreachable"]
    {
        zero.push(format!("ep_upstream_calls_total{{upstream=\"{upstream_label}\",result=\"{result}\"}} 0"));
    }
    for rung in ["required", "object", "auto", "json_schema", "prose"] {
        zero.push(format!("ep_upstream_rungs_total{{upstream=\"{upstream_label}\",rung=\"{rung}\"}} 0"));
    }
    for reason in ["truncated", "conflicting", "unparsable", "rejected"] {
        let labels = format!("upstream=\"{upstream_label}\",reason=\"{reason}\"");
        zero.push(format!("ep_upstream_second_requests_total{{{labels}}} 0"));
    }
    for cause in ["named", "busy", "failed"] {
        zero.push(format!("ep_upstream_pauses_total{{upstream=\"{upstream_label}\",cause=\"{cause}\"}} 0"));
    }
    zero.push(format!("ep_upstream_window{{upstream=\"{upstream_label}\"}} 2048"));
    for gauge in ["limited_models", "calls_waiting"] {
        zero.push(format!("ep_upstream_{gauge}{{upstream=\"{upstream_label}\"}} 0"));
    }
    for scope in ["model", "upstream"] {
        zero.push(format!("ep_upstream_halvings_total{{upstream=\"{upstream_label}\",scope=\"{scope}\"}} 0"));
    }
    for outcome in ["delivered", "again", "failed"] {
        zero.push(format!("ep_notifications_total{{outcome=\"{outcome}\"}} 0"));
        zero.push(format!("ep_agent_pushes_total{{outcome=\"{outcome}\"}} 0"));
    }
    for line in zero {
        assert!(page.text.lines().any(|found| found == line), "{line} is missing in\n{}", page.text);
    }
    let client = Client::new(&server.url, made["api_key"].as_str().map(str::to_owned));
    client.poll(json!({})).await.expect(200);
    let page = metrics.get("/metrics").await.text;
    let (help, types, samples) = families(&page);
    assert_eq!(help, types, "every family has HELP and TYPE");
    for sample in samples {
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| sample.strip_suffix(suffix));
        assert!(
            help.contains(family.unwrap_or(&sample)) || help.contains(&sample),
            "{sample} is not described"
        );
    }
    let answered = format!("ep_upstream_calls_total{{upstream=\"{upstream_label}\",result=\"answered\"}} 0");
    assert!(!page.contains(&answered), "{page}");
}

#[tokio::test]
async fn key_in_the_wrong_header_is_rejected_with_an_explanation() {
    let service: Service = Setup::demo().boot().await;
    let user = service.user().await;
    let key = user.key.clone().unwrap();
    let nobody = service.anonymous();
    for path in ["/api/poll", "/api/polls"] {
        let reply = nobody.post_with(path, &question(json!({})), &[("x-api-key", &key)]).await;
        assert!(reply.header("www-authenticate").starts_with("Bearer"));
        let said = reply.refused(401);
        assert!(said.contains("X-API-Key") && said.contains("Authorization: Bearer"), "{said}");
    }
    let tool = json!({ "name": "poll_question", "arguments": question(json!({})) });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool });
    let headers = [("x-api-key", &*key), ("accept", "application/json, text/event-stream")];
    let said = nobody.post_with("/api/mcp", &body, &headers).await.rpc_refused(401);
    assert!(said.contains("Authorization: Bearer"), "{said}");
    // Documents ignore credentials, and a proxy may add the header to a request with a bearer token.
    assert_eq!(
        nobody
            .send(nobody.request(reqwest::Method::GET, "/robots.txt").header("x-api-key", "k"))
            .await
            .status,
        200
    );
    let both = user.post_with("/api/poll", &question(json!({})), &[("x-api-key", "k")]).await;
    assert!(both.expect(200).get("costs").is_some());
}
