"""Small real language models behind an OpenAI-compatible address that does enforce a forced tool call.

llama.cpp's own server accepts `tool_choice` but does not enforce it for every model and form. This one renders the
model's own chat template with the tools, and decodes the call's arguments under a grammar made of the tool's schema,
as vLLM does for a named tool. A model whose template knows no tools sees only the messages.
"""

import json
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import xllamacpp

CONTEXT = 2048
# Qwen2.5's template teaches this form of a call; the arguments follow.
CALL = '<tool_call>\n{"name": "%s", "arguments": '


class Model:
    """One set of weights in an engine of its own. It answers one request at a time."""

    def __init__(self, path: str, threads: int):
        params = xllamacpp.CommonParams()
        params.model.path = path
        params.n_parallel = 1
        params.n_ctx = CONTEXT
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.cache_ram_mib = 0
        params.ui = False
        params.verbosity = 1
        self.engine = xllamacpp.Server(params)
        self.lock = threading.Lock()

    def post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(
            self.engine.listening_address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.loads(answer.read())

    def complete(self, request: dict) -> dict:
        """A completion whose text, or whose call's arguments, fit the schema that the request names."""
        body = {"messages": request["messages"]}
        tool = schema = None
        if request.get("tools"):
            body["tools"] = request["tools"]
            tool = request["tools"][0]["function"]
            schema = tool["parameters"]
        elif "response_format" in request:
            schema = request["response_format"]["json_schema"]["schema"]
        with self.lock:
            prompt = self.post("/apply-template", body)["prompt"]
            if tool and "<tool_call>" in prompt:
                prompt += CALL % tool["name"]
            wanted = {"prompt": prompt, "temperature": 0, "n_predict": request.get("max_tokens") or 256}
            if schema:
                wanted["json_schema"] = schema
            answer = self.post("/completion", wanted)
        message = {"role": "assistant", "content": None if tool else answer["content"]}
        if tool:
            call = {"name": tool["name"], "arguments": answer["content"]}
            message["tool_calls"] = [{"id": "call_0", "type": "function", "function": call}]
        cut_off = answer.get("stop_type") == "limit"
        return {
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "length" if cut_off else "stop"}],
            "usage": {
                "prompt_tokens": answer["tokens_evaluated"],
                "completion_tokens": answer["tokens_predicted"],
                "total_tokens": answer["tokens_evaluated"] + answer["tokens_predicted"],
            },
        }


def serve(models: dict[str, Model], port: int) -> ThreadingHTTPServer:
    """Serves these models on 127.0.0.1 in the background."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            entries = [{"id": name, "object": "model", "owned_by": "local"} for name in models]
            self.reply(200, {"object": "list", "data": entries})

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model = models.get(request.get("model"))
            if model is None:
                self.reply(404, {"error": {"message": "no such model", "code": "model_not_found"}})
                return
            try:
                self.reply(200, model.complete(request))
            except OSError as error:
                detail = error.read().decode() if hasattr(error, "read") else str(error)
                self.reply(400, {"error": {"message": detail}})

        def reply(self, status: int, value: dict):
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
