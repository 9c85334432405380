"""An OpenAI-compatible upstream with twelve models: nine vote for the first option, one answers in prose that names no
option, one fails and one is rate-limited. Prints its base URL."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODELS = [f"maker{number}/model-{number}" for number in range(12)]


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        price = {"prompt": "0.0000001", "completion": "0.0000002"}
        architecture = {"input_modalities": ["text"], "output_modalities": ["text"]}
        models = [
            {
                "id": name,
                "name": name,
                "context_length": 32_000,
                "pricing": price,
                "architecture": architecture,
                "supported_parameters": ["tools", "tool_choice"],
            }
            for name in MODELS
        ]
        self.answer(200, {"data": models})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number = MODELS.index(request["model"])
        if number == 10:
            return self.answer(500, {"error": {"message": "internal error"}})
        if number == 11:
            return self.answer(429, {"error": {"message": "too many requests"}}, {"retry-after": "1"})
        message = {"role": "assistant", "content": None}
        if number == 9 or not request.get("tools"):
            message["content"] = "I would rather not say."
        else:
            message["tool_calls"] = [self.vote(request["tools"][0]["function"])]
        usage = {"prompt_tokens": 120, "completion_tokens": 12, "total_tokens": 132}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.answer(200, {"id": "x", "object": "chat.completion", "created": 0, "model": request["model"],
                          "choices": [choice], "usage": usage})

    def vote(self, function):
        """Fills each required argument with the first allowed value."""
        fields = function["parameters"]["properties"]
        arguments = {name: field.get("enum", [1])[0] for name, field in fields.items()}
        call = {"name": function["name"], "arguments": json.dumps(arguments)}
        return {"id": "call", "type": "function", "function": call}

    def answer(self, status, body, headers=None):
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": len(text), **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
server.serve_forever()
