"""Records the responses of one build of `ep`, so that two builds can be compared: record.py EP >responses.jsonl

Starts the program with simulated models on a new SQLite file, and then on a new PostgreSQL database. Sends requests over HTTP,
MCP, A2A and the command line (every path with every method, media types, good and bad bodies, credentials), labels files, and
prints one line for each response. Values that differ between two runs of one build (ids, times, digests) are replaced, and what
depends on the order of votes is sorted. Every poll asks all of its models, so that the votes are the same in each run.
"""

import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from urllib.parse import quote

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
ACCEPTS = ["text/html", "text/markdown", "application/json", "application/problem+json", "text/event-stream", "image/png"]
BODIES = [b"", b"{", b"[]", b"null", b'{"x":1}', b'{"question":7,"options":"a"}', b"\xff\xfe", b'{"question":"' + b"q" * 3000 + b'"}', b"{" + b" " * 70_000 + b"}"]
# Replaced in texts, in this order.
VOLATILE = [
    (r"EP-\d{8}-[0-9A-Z]+", "EP-ID"),
    (r"(ep_[a-z]+|whsec)_[0-9A-Za-z_+/=-]{5,}", "SECRET"),
    (r"\b1[78]\d{8}\b", "EPOCH"),
    (r'("?(total|gather|latency|upstream)_?[mMu][sS]"?: )\d+', r"\1N"),
    (r'("(mean_)?ms": ?)[\d.]+', r"\1N"),
    (r"~\d+ ms|\d+(\.\d+)? m?s\b", "DURATION"),
    (r"\b(usr|key|cs|dep|evt|req|msg|task|ctx)_[0-9A-Za-z_-]{6,}", r"\1_ID"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "TIME"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} [0-9:]{8} GMT", "TIME"),
    (r"\d{4}-\d\d-\d\d", "DATE"),
    (r"127\.0\.0\.1:\d+|localhost:\d+", "HOST"),
    (r"\b(sha256[-:])[0-9A-Za-z+/=_-]{16,}", r"\1DIGEST"),
    (r"\b[0-9a-f]{16,}\b", "HEX"),
    (r"eyJ[0-9A-Za-z_.-]{20,}", "JWS"),
    (r'"(x|y|signature|kid|etag|nonce|version)":\s?"[0-9A-Za-z_-]{16,}"', r'"\1": "VALUE"'),
    (r"\?v=[0-9A-Za-z_-]+", "?v=HASH"),
    (r"name=\"nonce\" value=\"[^\"]*\"", 'name="nonce" value="NONCE"'),
]
HEADERS = ["content-type", "allow", "location", "cache-control", "vary", "link", "www-authenticate", "content-security-policy", "access-control-allow-origin", "access-control-allow-methods", "retry-after", "deprecation", "mcp-session-id", "a2a-version"]


def plain(text):
    for pattern, by in VOLATILE:
        text = re.sub(pattern, by, text)
    return text


def in_order(value):
    """JSON with its votes, lists of models and drawn orders in one order."""
    if isinstance(value, dict):
        drawn = lambda key, of: key == "option_order" or (key == "models" and all(isinstance(model, str) for model in of))
        return {key: sorted(of) if isinstance(of, list) and drawn(key, of) else in_order(of) for key, of in value.items()}
    if isinstance(value, list):
        value = [in_order(of) for of in value]
        if value and all(isinstance(of, dict) and ("model_id" in of or "family" in of) for of in value):
            value.sort(key=lambda of: json.dumps(of, sort_keys=True))
    return value


def normal(body, kind):
    text = body.decode("utf-8", "replace")
    if text.startswith("\ufffdPNG"):
        return "PNG"
    if "event-stream" in kind:
        return [line.split(":", 1)[0] if line.startswith("data") else line for line in text.splitlines() if line.startswith(("event", "data"))][:4]
    try:
        value = json.loads(text)
    except ValueError:
        if kind.startswith("text/html") and re.search(r"EP-\d", text):
            return "page of a poll"
        lines = plain(text).splitlines()
        return "\n".join(sorted(lines) if "csv" in kind or "mermaid" in kind or "-->" in text or '"votes":' in text else lines)
    return plain(json.dumps(in_order(value), ensure_ascii=False))


class Service:
    def __init__(self, program, folder, database):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.program = program
        self.engine = "postgres" if database else "sqlite"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": folder, "EP_DATA_DIR": folder, "EP_LISTEN": f"127.0.0.1:{self.port}",
            "EP_DEMO_PACE": "0", "EP_BILLING": "prepaid", "EP_LOG": "error", "EP_SECRET_KEY": "5e" * 32,
            **({"EP_DATABASE_URL": database} if database else {}),
            **{f"EP_RATE_LIMIT_{name}_PER_MINUTE": "0" for name in ["ANONYMOUS", "SIGN_IN", "FREE", "RESULTS", "PUBLIC"]}, "EP_RATE_LIMIT_PER_MINUTE": "0",
        }
        self.process = subprocess.Popen([program, "serve"], env=self.environment, stdout=subprocess.DEVNULL, stderr=sys.stderr)

    def send(self, method, path, headers=None, body=None):
        for attempt in range(200):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                connection.request(method, quote(path, safe="/?&=:%.~{}-_*,"), body, headers or {})
                response = connection.getresponse()
                return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
            except ConnectionRefusedError:
                if attempt == 199 or self.process.poll() is not None:
                    raise
                time.sleep(0.1)
            finally:
                connection.close()

    def record(self, method, path, headers=None, body=None, note=""):
        status, got, content = self.send(method, path, headers, body)
        # The list of models is valid until the next hour, and figures for a while after they were read.
        if re.search("models|reputation|calibration", path) and "cache-control" in got:
            got["cache-control"] = re.sub(r"max-age=\d+", "max-age=N", got["cache-control"])
        line = {
            "on": self.engine, "request": plain(f"{method} {path}"), "with": plain(json.dumps(headers or {})), "body": plain((body or b"")[:80].decode("utf-8", "replace")), "note": plain(note),
            "status": status, "headers": {name: plain(got[name]) for name in HEADERS if name in got}, "response": normal(content, got.get("content-type", "")),
        }
        print(json.dumps(line, ensure_ascii=False, sort_keys=True))
        return content

    def command(self, *arguments, text=""):
        done = subprocess.run([self.program, *arguments], env=self.environment, cwd=self.environment["EP_DATA_DIR"], input=text.encode(), capture_output=True, timeout=120)
        named = lambda text: text.replace(self.environment["EP_DATA_DIR"], "FOLDER").replace(f"Usage: {os.path.basename(self.program)} ", "Usage: ep ")
        out, errors = (named(normal(of, "")) for of in (done.stdout, done.stderr))
        print(json.dumps({"on": self.engine, "command": plain(" ".join(arguments)), "code": done.returncode, "out": out, "err": errors}, ensure_ascii=False, sort_keys=True))
        return done.stdout


class Postgres:
    """A new database on a server of its own, which rejects root."""

    def __init__(self, folder):
        self.folder, self.binaries = f"{folder}/server", sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(folder, "postgres", "postgres")
        self.run("initdb", "-D", self.folder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.run("pg_ctl", "-D", self.folder, "-l", f"{folder}/log", "-w", "-o", f"-p {port} -k {folder} -c fsync=off", "start")
        self.url = f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable"

    def run(self, program, *arguments):
        subprocess.run([*self.user, f"{self.binaries}/{program}", *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def stop(self):
        self.run("pg_ctl", "-D", self.folder, "-m", "immediate", "stop")


def main(program):
    program = os.path.abspath(program)
    record(program, None)
    with tempfile.TemporaryDirectory() as folder:
        server = Postgres(folder)
        try:
            record(program, server.url)
        finally:
            server.stop()


def record(program, database):
    with tempfile.TemporaryDirectory() as folder:
        service = Service(program, folder, database)
        try:
            walk(service)
            label(service, folder)
        finally:
            service.process.send_signal(signal.SIGTERM)
            service.process.wait(30)


def label(service, folder):
    """Labels files in this process, by batches of the service, and with mistakes."""
    files = {
        "rows.csv": "id,text\n" + "".join(f"r{n},Text number {n} is about {'cats' if n % 3 else 'dogs'}.\n" for n in range(8)),
        "empty.csv": "id,text\n1,\n2,Some text about a dog.\n",
        "semicolons.csv": "id;text\n1;A text, with a comma\n",
        "rows.jsonl": '{"id": "a", "text": {"body": "A text about a cat."}}\n{"id": "b", "text": {"body": "A text about a dog."}}\n',
        "gold.csv": "id,text,gold\n" + "".join(f"r{n},Text number {n} is about {kind}.,{kind}\n" for n in range(8) for kind in ["cats" if n % 3 else "dogs"]),
        "broken.csv": 'id,text\n1,"never closed\n',
    }
    for name, text in files.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    ask = ["--question", "What is this text about? {text}", "--options", "cats,dogs"]
    three = ["--model", "demo/basalt-small", "--model", "demo/garnet-small", "--model", "demo/juniper-small", "--yes"]
    commands = [
        ["rows.csv", *ask, *three, "--id", "id", "--json"],
        ["rows.csv", *ask, *three, "--id", "id", "--json"],
        ["rows.csv", *ask, *three, "--id", "id", "--on-tie", "strongest", "--out", "strongest.jsonl", "--json"],
        ["rows.csv", *ask, "--panel", "trio", "--yes", "--id", "id", "--out", "trio.jsonl", "--review", "review.csv", "--json"],
        ["sample", "rows.csv", "3", "--seed", "7"],
        ["prove", "rows.csv", *ask, *three, "--id", "id", "--gold", "gold.csv", "--own-draw", "--max-error", "0.9", "--choose", "1", "--despite-difference", "--json"],
        ["verify", "labels.jsonl"],
        ["rows.csv", *ask, *three, "--out", "-"],
        ["rows.jsonl", "--question", "What is this text about? {text.body}", "--options", "cats,dogs", *three, "--id", "id", "--out", "nested.jsonl", "--json"],
        ["empty.csv", *ask, *three, "--id", "id", "--out", "empty.jsonl", "--json"],
        ["empty.csv", *ask, *three, "--id", "id", "--out", "asked.jsonl", "--ask-empty", "--json"],
        ["semicolons.csv", *ask, *three, "--id", "id", "--out", "semicolons.jsonl", "--json"],
        ["-", *ask, *three, "--out", "input.jsonl", "--json"],
        ["broken.csv", *ask, *three],
        ["missing.csv", *ask, *three],
        ["rows.csv", "--question", "What about {nothing}?", "--options", "a,b", *three],
        ["rows.csv", "--question", "What is this about? {text}", "--options", "a", *three],
        ["rows.csv", *ask, "--model", "demo/nothing", "--yes"],
        ["rows.csv", *ask, *three, "--max-cost-usd", "0.000001", "--out", "cheap.jsonl"],
        ["rows.csv", *ask, *three, "--id", "text", "--on-tie", "maybe"],
        ["--nothing"],
    ]
    for arguments in commands:
        service.command("label", *arguments, text=files["rows.csv"] if arguments[0] == "-" else "")
    for name in sorted(os.listdir(folder)):
        if name.startswith(("labels", "strongest", "trio", "nested", "empty", "asked", "semicolons", "input", "review")) and os.path.isfile(f"{folder}/{name}"):
            with open(f"{folder}/{name}", encoding="utf-8") as file:
                print(json.dumps({"on": service.engine, "command": f"cat {name}", "out": sorted(plain(line) for line in file)}, ensure_ascii=False, sort_keys=True))


def walk(service):
    service.send("GET", "/readyz")
    created = json.loads(subprocess.run([service.program, "admin", "create-user", "--email", "recorder@example.com", "--credit-usd", "10", "--json"], env=service.environment, capture_output=True, check=True).stdout)
    key = created["api_key"]
    bearer = {"authorization": f"Bearer {key}"}
    as_json = {"content-type": "application/json"}
    question = json.dumps({"question": "Tabs or spaces?", "options": ["Tabs", "Spaces"], "complete": True}).encode()
    poll = json.loads(service.send("POST", "/api/poll", {**bearer, **as_json}, question)[2])["poll_id"]
    description = json.loads(service.send("GET", "/api/openapi.json")[2])

    paths = dict.fromkeys(["/", "/nothing", "/api/nothing", "/healthz", "/readyz", "/login", "/dashboard", "/ask", "/models", "/models.md", "/docs", "/docs.md",
                           "/how-sure", "/about", "/privacy", "/terms", "/results/" + poll, "/embed/" + poll, "/oembed?url=x", "/robots.txt", "/sitemap.xml",
                           *[f"/results/{poll}.{form}" for form in ["md", "csv", "svg", "png"]], "/results/EP-nothing", "/.well-known/openid-configuration"])
    for path in description["paths"]:
        for poll_id in [poll, "EP-nothing", "<b>"] if "{" in path else [""]:
            paths[re.sub(r"\{[^}]*\}", poll_id, path)] = None
    for text in ["/llms.txt", "/sitemap.xml", "/.well-known/api-catalog", "/api/surfaces"]:
        for path in re.findall(r"https?://[^/\s\"<>)]+(/[^\s\"<>)#]*)", service.send("GET", text)[2].decode()):
            paths[path] = None
    for path in paths:
        for method in METHODS:
            service.record(method, path)
        for accept in ACCEPTS:
            service.record("GET", path, {"accept": accept})
        service.record("GET", path, bearer)
        service.record("GET", path, {"authorization": "Bearer ep_k_wrong"})
        service.record("GET", path, {"cookie": "ep_session=wrong"})
        service.record("GET", path, {"origin": "https://example.com"})
        service.record("GET", path, {"if-none-match": "*"})
    for path, methods in description["paths"].items():
        for method in methods:
            if method.upper() not in METHODS or method == "get":
                continue
            to = re.sub(r"\{[^}]*\}", poll, path)
            for body in BODIES:
                for credential in [{}, bearer]:
                    service.record(method.upper(), to, {**credential, **as_json}, body)
            service.record(method.upper(), to, {**bearer, "content-type": "text/plain"}, b"{}")

    def rpc(path, method, params, headers=None, note=""):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        return service.record("POST", path, {**as_json, "accept": "application/json, text/event-stream", **(headers or {})}, body, note or method)

    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "recorder", "version": "1"}}
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01"]:
        rpc("/mcp", "initialize", {**client, "protocolVersion": version}, bearer)
    listed = json.loads(service.send("POST", "/mcp", {**as_json, **bearer, "accept": "application/json, text/event-stream"}, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')[2] or b"{}")
    tools = [tool["name"] for tool in listed.get("result", {}).get("tools", [])] or ["poll_question", "list_models"]
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "ping", "nothing", "tools/call", "prompts/get", "resources/read", "tasks/list"]:
        for headers in [{}, bearer]:
            rpc("/mcp", method, {}, headers)
    for tool in tools:
        for arguments in [{}, {"nothing": 1}, {"poll_id": poll}, {"poll_id": 7}, {"question": ""}]:
            for headers in [{}, bearer]:
                rpc("/mcp", "tools/call", {"name": tool, "arguments": arguments}, headers, f"{tool} {json.dumps(arguments)}")
    for path in ["/a2a", "/api/a2a"]:
        for method in ["message/send", "tasks/get", "tasks/cancel", "SendMessage", "GetTask", "ListTasks", "GetExtendedAgentCard", "nothing"]:
            for parts in [[], [{"kind": "text", "text": "help"}], [{"kind": "data", "data": {"operation": "list_models"}}], [{"text": "help"}], [{"kind": "data", "data": {"nothing": 1}}]]:
                for headers in [{}, bearer, {**bearer, "a2a-version": "1.0"}]:
                    rpc(path, method, {"message": {"role": "user", "kind": "message", "messageId": "m", "parts": parts}, "id": "x"}, headers)
    service.command("--help")
    for name in ["poll", "serve", "mcp", "call", "doctor", "admin", "backup", "migrate", "config", "render"]:
        service.command(name, "--help")
    for tool in tools:
        service.command("call", tool, "{}")
    service.command("call", "nothing")
    service.command("poll")
    service.command("poll", "Tabs or spaces? [Tabs, Spaces]", "--complete", "--json")
    service.command("mcp", text='{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
    service.command("config")


main(sys.argv[1])
