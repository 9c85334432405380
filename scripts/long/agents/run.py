"""Runs the snippets of docs/clients.md against `ep serve`, and records what each framework sends.

    run.py EP VENVS [NAME…]

EP is the program; VENVS a folder for virtual environments, one for each framework, which are made if they are missing.
The language model is a script: it calls `poll_question` with `null` for every argument that it leaves out, and then answers
with the tool's result. Writes agents.json beside this file, and the recorded calls to tests/it/agent_calls.json.
"""

import datetime
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FRAMEWORKS = {
    "fastmcp": ("FastMCP", ["fastmcp"], ["fastmcp", "mcp"]),
    "langchain": (
        "LangChain",
        ["langchain-mcp-adapters", "langchain", "langchain-openai"],
        ["langchain-mcp-adapters", "langchain", "mcp"],
    ),
    "openai-agents": ("OpenAI Agents SDK", ["openai-agents"], ["openai-agents", "mcp"]),
    "pydantic-ai": ("Pydantic AI", ["pydantic-ai-slim[mcp,openai]"], ["pydantic-ai-slim", "mcp"]),
    "crewai": ("CrewAI", ["crewai", "crewai-tools[mcp]"], ["crewai", "crewai-tools", "mcp"]),
    "smolagents": ("smolagents", ["smolagents[mcp,openai]", "mcp<2"], ["smolagents", "mcp"]),
    "google-adk": ("Google ADK", ["google-adk", "litellm", "mcp"], ["google-adk", "litellm", "mcp"]),
}
HOP = ("host", "content-length", "accept-encoding", "connection")
EMPTY = {"string": "", "array": [], "boolean": False}
ASKED = {"question": "Which drink is better for the office?", "options": ["Tea", "Coffee"]}


class Model(BaseHTTPRequestHandler):
    """An OpenAI-compatible model that calls one tool and then answers."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tools = {tool["function"]["name"]: tool["function"] for tool in request.get("tools", [])}
        name = next((name for name in tools if name.endswith("poll_question")), None)
        asked = any(message["role"] == "assistant" for message in request["messages"])
        said = text_of(request["messages"][-1])
        if name and "type 'null'" in said:
            # smolagents wants every argument, and takes no null: its models fill in empty values.
            offered = tools[name]["parameters"]["properties"]
            message = call(name, {**{member: EMPTY.get(kind.get("type"), 1) for member, kind in offered.items()}, **ASKED})
        elif name and not asked:
            offered = tools[name]["parameters"]["properties"]
            message = call(name, {**{member: None for member in offered}, **ASKED})
        elif "final_answer" in tools:
            message = call("final_answer", {"answer": said})
        else:
            message = {"role": "assistant", "content": f"Final Answer: {said}"}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply(self, 200, {
            "id": "chatcmpl-1", "object": "chat.completion", "created": int(time.time()), "model": request["model"],
            "choices": [choice], "usage": usage,
        })

    def log_message(self, *_):
        pass


def call(name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


def text_of(message):
    content = message["content"]
    return content if isinstance(content, str) else json.dumps(content)


def reply(handler, status, value, headers=(("Content-Type", "application/json"),)):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    handler.send_response(status)
    for name, text in headers:
        handler.send_header(name, text)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


class Recorder(BaseHTTPRequestHandler):
    """Passes everything on to the service, and keeps the calls of tools with their results."""

    service = ""
    calls = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name: text for name, text in self.headers.items() if name.lower() not in HOP}
        request = urllib.request.Request(self.service + self.path, body or None, headers, method=self.command)
        try:
            answer = urllib.request.urlopen(request, timeout=120)
        except urllib.error.HTTPError as error:
            answer = error
        content = answer.read()
        asked = json.loads(body) if body else {}
        if asked.get("method") == "tools/call":
            text = content.decode()
            refused = '"isError":true' in text or '"error":{"code"' in text
            Recorder.calls.append({"params": asked["params"], "refused": refused, "answer": text[:300]})
        headers = [(name, text) for name, text in answer.headers.items() if name.lower() in ("content-type", "allow", "www-authenticate")]
        reply(self, answer.status, content, headers)

    do_GET = do_DELETE = do_POST

    def log_message(self, *_):
        pass


def listen(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def start(ep, data):
    """The service and a key for it."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    settings = {"EP_DATA_DIR": data, "EP_LISTEN": f"127.0.0.1:{port}", "EP_BASE_URL": url, "EP_DEMO_PACE": "0"}
    create = [ep, "admin", "create-user", "--email", "agent@example.com", "--credit-usd", "50", "--json"]
    made = subprocess.run(create, env=settings, check=True, capture_output=True)
    process = subprocess.Popen([ep, "serve"], env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{url}/api/health", timeout=5)
            break
        except OSError:
            time.sleep(0.1)
    else:
        raise SystemExit(f"{url} does not respond")
    return process, url, json.loads(made.stdout)["api_key"]


def python_of(venvs, name, packages):
    python = venvs / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venvs / name], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


def snippet(title):
    text = (ROOT / "docs/clients.md").read_text()
    return re.search(rf"^### {re.escape(title)}\n.*?```python\n(.*?)```", text, re.S | re.M).group(1)


def versions(python, packages):
    code = "import sys\nfrom importlib.metadata import version\nfor name in sys.argv[1:]: print(name, version(name))"
    lines = subprocess.run([python, "-c", code, *packages], check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in lines.splitlines())


def main():
    ep, venvs, *chosen = sys.argv[1:]
    venvs = Path(venvs).resolve()
    with tempfile.TemporaryDirectory() as data:
        process, Recorder.service, key = start(os.path.abspath(ep), data)
        try:
            run_all(venvs, chosen or list(FRAMEWORKS), key)
        finally:
            process.terminate()
            process.wait()


def run_all(venvs, names, key):
    model, service = listen(Model), listen(Recorder)
    summary_file, calls_file = HERE / "agents.json", ROOT / "tests/it/agent_calls.json"
    summary = json.loads(summary_file.read_text()) if summary_file.exists() else {}
    recorded = json.loads(calls_file.read_text()) if calls_file.exists() else {}
    ran = json.loads(subprocess.check_output([HERE.with_name("summaries"), "stamp", "agents"]))
    for name in names:
        title, packages, shown = FRAMEWORKS[name]
        Recorder.calls = []
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "snippet.py"
            file.write_text(snippet(title))
            python = python_of(venvs, name, packages)
            variables = {
                "PATH": os.environ["PATH"], "HOME": scratch, "EP_URL": service, "EP_API_KEY": key,
                "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model}/v1", "OPENAI_API_BASE": f"{model}/v1",
                "OPENAI_AGENTS_DISABLE_TRACING": "1", "CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true",
                "CREWAI_TESTING": "true", "NO_COLOR": "1",
            }
            try:
                done = subprocess.run([python, file], env=variables, cwd=scratch, capture_output=True, text=True, timeout=400)
                code, output = done.returncode, done.stdout + done.stderr
            except subprocess.TimeoutExpired as late:
                code, output = "timeout", str(late.stdout) + str(late.stderr)
        polls = [one for one in Recorder.calls if one["params"]["name"] == "poll_question"]
        works = code == 0 and bool(polls) and not any(one["refused"] for one in polls)
        summary[name] = {
            **ran, "works": works, "versions": versions(python, shown),
            "date": datetime.date.today().isoformat(), "python": sys.version.split()[0],
        }
        if polls:
            params = polls[0]["params"]
            recorded[name] = {"name": params["name"], "arguments": params["arguments"]}
        print(name, "works" if works else f"FAILS ({code})", json.dumps([one["params"].get("arguments") for one in polls]))
        if not works:
            print(output[-3000:], [one["answer"] for one in polls])
        summary_file.write_text(json.dumps(summary, indent=2, sort_keys=True) + "\n")
        calls_file.write_text(json.dumps(recorded, indent=2, sort_keys=True) + "\n")
    sys.exit(any(not summary[name]["works"] for name in names))


if __name__ == "__main__":
    main()
