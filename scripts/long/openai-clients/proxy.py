"""A proxy between a client and the service. Records requests, passes bytes on unchanged, and can lose responses."""

import base64
import gzip
import http.client
import json
import select
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Headers of one connection, which a proxy never passes on.
HOP = ("connection", "host", "keep-alive", "transfer-encoding", "content-length")
# Headers that change how the service answers. Credentials are never among them.
RECORDED = (
    "user-agent",
    "accept",
    "content-type",
    "content-encoding",
    "idempotency-key",
    "prefer",
    "x-stainless-retry-count",
    "x-typesafe-retry-count",
)
# Longest wait for a client that gives up.
PATIENCE = 120


class Recorder(BaseHTTPRequestHandler):
    """Passes requests on to `upstream`, and closes the request there when the client closes it here."""

    protocol_version = "HTTP/1.1"
    upstream = ("127.0.0.1", 0)
    exchanges = []
    # Number of responses to withhold until the client has gone.
    withheld = 0
    # Seconds after which the proxy closes the connections of the first request; none if the client gives up by itself.
    cut = None
    lock = threading.Lock()

    def serve(self):
        body = self.body()
        chosen = {name.lower(): text for name, text in self.headers.items() if name.lower() in RECORDED}
        exchange = {
            "request": {"method": self.command, "path": self.path, "headers": chosen, **encoded(body, chosen)},
            "status": None,
            "poll_id": None,
            "answer": "",
        }
        with Recorder.lock:
            Recorder.exchanges.append(exchange)
            withhold = self.command == "POST" and Recorder.withheld > 0
            Recorder.withheld -= withhold
            cut, Recorder.cut = Recorder.cut, None
        service = http.client.HTTPConnection(*self.upstream, timeout=PATIENCE)
        try:
            headers = {name: text for name, text in self.headers.items() if name.lower() not in HOP}
            host = self.headers.get("Host")
            service.request(self.command, self.path, body or None, {**headers, **({"Host": host} if host else {})})
            if not self.first_byte(service.sock, None if withhold else cut):
                exchange["answer"] = "the connection was closed"
                self.close_connection = True
                return
            response = service.getresponse()
            exchange["status"], exchange["poll_id"] = response.status, response.headers.get("poll-id")
            if withhold:
                response.read()
                exchange["answer"] = "withheld"
                self.first_byte(None, cut)
                self.close_connection = True
                return
            exchange["answer"] = self.relay(response)
        except (OSError, http.client.HTTPException) as error:
            exchange["answer"] = f"{type(error).__name__}: {error}"
            self.close_connection = True
        finally:
            service.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = serve

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def first_byte(self, service, seconds):
        """Waits for the response, or for the client to close the connection. Returns true for a response."""
        sockets = [self.connection, *([service] if service else [])]
        until = time.monotonic() + (seconds or PATIENCE)
        while time.monotonic() < until:
            ready, _, _ = select.select(sockets, [], [], 0.1)
            if service in ready:
                return True
            if self.connection in ready:
                try:
                    if not self.connection.recv(1, socket.MSG_PEEK):
                        return False
                except OSError:
                    return False
                time.sleep(0.05)
        return False

    def relay(self, response):
        self.send_response_only(response.status, response.reason)
        for name, text in response.headers.items():
            if name.lower() not in HOP:
                self.send_header(name, text)
        length = response.headers.get("content-length")
        chunked = length is None and response.status not in (204, 304) and self.command != "HEAD"
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif length is not None:
            self.send_header("Content-Length", length)
        self.end_headers()
        parts = []
        while part := response.read1(65536):
            parts.append(part)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
            self.wfile.flush()
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
        content = b"".join(parts)
        if response.headers.get("content-encoding") == "gzip":
            content = gzip.decompress(content)
        return content.decode(errors="replace")

    def log_message(self, *_):
        pass


def encoded(body, headers):
    """The body as JSON, or in base64 if it is not."""
    if not body:
        return {}
    if "content-encoding" not in headers:
        try:
            return {"body": json.loads(body)}
        except ValueError:
            pass
    return {"base64": base64.b64encode(body).decode()}


def listen(upstream):
    """Starts a proxy for the service at this port, and returns its address."""
    handler = type("Handler", (Recorder,), {"upstream": ("127.0.0.1", upstream)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
