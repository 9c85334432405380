"""Fails PostgreSQL over to its standby while polls run: run.py EP [FAILOVERS]

Two processes of `ep serve` share a primary with one synchronous standby, which they reach through a proxy at a fixed
address. In each round the primary is killed, the standby is promoted, and a new standby is built. Callers repeat each
request with its idempotency key until it succeeds. At the end every poll has one result, no caller got two polls for one
key, the money adds up, and the audit passes. Writes summary.json beside this file.
"""

import collections
import glob
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

BINARIES = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
# PostgreSQL refuses to run as root.
AS_POSTGRES = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
CALLERS = 6


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def postgres(program, *arguments):
    subprocess.run([*AS_POSTGRES, f"{BINARIES}/{program}", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, cwd="/")


def until(state, is_reached):
    """Waits for a state, for a minute."""
    deadline = time.monotonic() + 60
    while not is_reached():
        assert time.monotonic() < deadline, f"after a minute, it is not true that {state}"
        time.sleep(0.1)


class Server:
    """One PostgreSQL server."""

    def __init__(self, folder, port):
        self.folder, self.port = folder, port

    def start(self):
        postgres("pg_ctl", "-D", self.folder, "-l", f"{self.folder}.log", "-w", "-o", f"-p {self.port} -k {os.path.dirname(self.folder)}", "start")

    def set(self, name, value):
        with open(f"{self.folder}/postgresql.auto.conf", "a", encoding="utf-8") as settings:
            settings.write(f"{name} = '{value}'\n")

    def query(self, sql):
        psql = [*AS_POSTGRES, f"{BINARIES}/psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", "postgres", "-Atc", sql]
        return subprocess.run(psql, check=True, capture_output=True, text=True, cwd="/").stdout.strip()

    def standby(self, folder):
        """Builds a standby of this server, and waits until commits wait for it."""
        other = Server(folder, free_port())
        postgres("pg_basebackup", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-D", folder, "-R", "-X", "stream", "-c", "fast")
        other.set("synchronous_standby_names", "")
        other.start()
        self.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.query("SELECT pg_reload_conf()")
        until("commits wait for the standby", lambda: self.query("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1")
        return other

    def kill(self):
        with open(f"{self.folder}/postmaster.pid", encoding="utf-8") as file:
            number = int(file.readline())
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(number)], capture_output=True, text=True, check=False).stdout.split()
        for process in [number, *map(int, children)]:
            os.kill(process, signal.SIGKILL)


class Proxy:
    """Passes connections on to the current primary."""

    def __init__(self, target):
        self.target, self.open = target, set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            self.open |= {client, server}
            for one, other in [(client, server), (server, client)]:
                threading.Thread(target=self.copy, args=(one, other), daemon=True).start()

    def copy(self, source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            self.open.discard(end)
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Caller(threading.Thread):
    """Asks polls, each with an idempotency key that is repeated until it succeeds."""

    def __init__(self, number, ports, key, stop):
        super().__init__()
        self.number, self.ports, self.key, self.stop = number, ports, key, stop
        self.polls, self.statuses, self.longest = {}, collections.Counter(), 0.0

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", random.choice(self.ports), timeout=60)
        try:
            connection.request(method, path, body, {"authorization": f"Bearer {self.key}", "content-type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, response.read()
        except OSError:
            return "cut", b""
        except http.client.HTTPException:
            return "cut", b""
        finally:
            connection.close()

    def run(self):
        count = 0
        while not self.stop.is_set():
            count += 1
            name = f"failover-{self.number}-{count}"
            body = json.dumps({"question": f"Tabs or spaces? {name}", "options": ["Tabs", "Spaces"], "preset": "fast_and_cheap"})
            began = time.monotonic()
            while True:
                status, content = self.request("POST", "/api/poll", body, {"idempotency-key": name})
                self.statuses[str(status)] += 1
                if status in (200, 202):
                    break
                assert status in ("cut", 409, 429, 500, 502, 503, 504), (status, content)
                assert time.monotonic() < began + 120, f"{name} has had no response for two minutes"
                time.sleep(0.2)
            self.longest = max(self.longest, time.monotonic() - began)
            poll = json.loads(content)["poll_id"]
            status, content = self.request("POST", "/api/poll", body, {"idempotency-key": name})
            assert status not in (200, 202) or json.loads(content)["poll_id"] == poll, "one key has two polls"
            self.polls[name] = poll


def main(program, failovers):
    home = tempfile.mkdtemp(prefix="ep-failover-")
    if AS_POSTGRES:
        shutil.chown(home, "postgres", "postgres")
    os.chmod(home, 0o755)
    primary = Server(f"{home}/server0", free_port())
    postgres("initdb", "-D", primary.folder, "-U", "postgres", "-A", "trust", "--no-sync")
    primary.start()
    primary.query("CREATE DATABASE polls")
    standby = primary.standby(f"{home}/server1")
    proxy = Proxy(primary.port)
    data = tempfile.mkdtemp(prefix="ep-failover-data-")
    environment = {
        "PATH": os.environ["PATH"], "HOME": data, "EP_DATA_DIR": data, "EP_DATABASE_URL": f"postgres://postgres@127.0.0.1:{proxy.port}/polls?sslmode=disable",
        "EP_SECRET_KEY": "5e" * 32, "EP_BILLING": "prepaid", "EP_DEMO_PACE": "0.5", "EP_LOG": "warn", "EP_RATE_LIMIT_PER_MINUTE": "0", "EP_LEASE_MS": "5000",
    }
    ports = [free_port(), free_port()]
    log = open(f"{data}/log", "w", encoding="utf-8")
    run = lambda *arguments: subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=False)
    run("migrate")
    key = json.loads(run("admin", "create-user", "--email", "failover@example.com", "--credit-usd", "1000", "--json").stdout)["api_key"]
    services = [subprocess.Popen([program, "serve"], env={**environment, "EP_LISTEN": f"127.0.0.1:{port}"}, stdout=log, stderr=log) for port in ports]
    stop = threading.Event()
    callers = [Caller(number, ports, key, stop) for number in range(CALLERS)]
    try:
        until("a service responds", lambda: callers[0].request("GET", "/readyz")[0] == 200)
        for caller in callers:
            caller.start()
        for number in range(failovers):
            time.sleep(4)
            primary.kill()
            time.sleep(1)
            postgres("pg_ctl", "-D", standby.folder, "-w", "promote")
            primary, proxy.target = standby, standby.port
            for end in list(proxy.open):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            time.sleep(4)
            standby = primary.standby(f"{home}/server{number + 2}")
        stop.set()
        for caller in callers:
            caller.join(120)
            assert not caller.is_alive(), "a caller still waits"
        polls = {name: poll for caller in callers for name, poll in caller.polls.items()}
        assert len(set(polls.values())) == len(polls) > 10 * failovers, len(polls)
        ended, deadline = collections.Counter(), time.monotonic() + 60
        for poll in polls.values():
            while True:
                status, content = callers[0].request("GET", f"/api/polls/{poll}/result")
                state = json.loads(content).get("status") if status == 200 else status
                if state not in ("running", "queued", "cut", 503) or time.monotonic() > deadline:
                    break
                time.sleep(0.3)
            ended[str(state)] += 1
        audit = run("admin", "audit")
        ran = subprocess.check_output([pathlib.Path(__file__).resolve().parent.with_name("summaries"), "stamp", "failover"])
        summary = {
            **json.loads(ran), "failovers": failovers, "polls": len(polls), "ended": ended, "responses": sum((caller.statuses for caller in callers), collections.Counter()),
            "longest_request_s": round(max(caller.longest for caller in callers), 1), "audit": "passed" if audit.returncode == 0 else audit.stdout + audit.stderr,
        }
        pathlib.Path(__file__).with_name("summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        print(json.dumps(summary, indent=2))
        assert audit.returncode == 0 and not {"running", "queued"} & ended.keys(), "see above"
    finally:
        stop.set()
        for service in services:
            service.terminate()
        for service in services:
            service.wait(60)
        for server in (primary, standby):
            subprocess.run([*AS_POSTGRES, f"{BINARIES}/pg_ctl", "-D", server.folder, "-m", "immediate", "stop"], check=False, stdout=subprocess.DEVNULL, cwd="/")
        log.close()
        print(open(f"{data}/log", encoding="utf-8").read()[-2000:], file=sys.stderr)
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(data, ignore_errors=True)


main(os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
