"""Counts the valid tool calls of a small model: ten requests in plain words, with the tools of a running service.

Loads the weights in this process with llama.cpp, offers the model the tools as `tools/list` describes them, and sends
each call that the model makes to the service. A call is valid if it is `poll_question` and the service runs the poll.
"""

import argparse
import http.client
import json
import os
import pathlib
import subprocess
from urllib.parse import urlsplit

import xllamacpp

REQUESTS = [
    "Ask several AI models whether Rust or Go is easier to learn.",
    "I can't decide between tea and coffee for the office. Get a vote from many models.",
    "Poll the models: is a tomato a fruit or a vegetable?",
    "Let a few models vote on the best database for a small web shop: SQLite, PostgreSQL or MySQL.",
    "What do most AI models think is the capital of Australia? Options: Sydney, Canberra, Melbourne.",
    "Get a second opinion from many models: should our API use REST, GraphQL or gRPC?",
    "Run a quick poll about whether Python 2 is still worth supporting, yes or no.",
    "Have models vote on which planet is the largest: Jupiter, Saturn or Earth. Don't spend more than 10 cents.",
    "Which name is better for a bakery, Crumb or Rise? Let many AI models decide.",
    "Do a private poll of AI models: is it safe to deploy on a Friday, yes or no?",
]
SYSTEM = "You are a helpful assistant. Use the tools to do what the user asks."


def rpc(url, key, method, params):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", "/api/mcp", body, headers)
    return json.loads(connection.getresponse().read())


def load(weights, threads):
    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.n_parallel = 1
    params.n_ctx = 6144
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = 0
    params.use_jinja = True
    params.ui = False
    params.verbosity = 1
    return xllamacpp.Server(params)


def call_of(server, tools, request):
    """The tool call of the model: its name and arguments, or the reason why there is none."""
    message = {
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": request}],
        "tools": tools,
        "tool_choice": "required",
        "temperature": 0,
        "max_tokens": 500,
    }
    address = urlsplit(server.listening_address)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=600)
    connection.request("POST", "/v1/chat/completions", json.dumps(message), {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    if "choices" not in answer:
        return None, json.dumps(answer)
    message = answer["choices"][0]["message"]
    calls = message.get("tool_calls") or []
    text = message.get("content") or ""
    try:
        if calls:
            return calls[0]["function"]["name"], json.loads(calls[0]["function"]["arguments"])
        # Small models often write the call as text, and clients read it from there.
        call, _ = json.JSONDecoder().raw_decode(text[text.index("{"):])
        return call["name"], call["arguments"]
    except (ValueError, KeyError, TypeError):
        return None, f"no tool call: {calls or text!r}"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--weights", required=True)
    arguments.add_argument("--url", required=True)
    arguments.add_argument("--threads", type=int, default=1)
    given = arguments.parse_args()
    key = os.environ["EP_API_KEY"]
    listed = rpc(given.url, key, "tools/list", {})["result"]["tools"]
    tools = [
        {"type": "function", "function": {"name": t["name"], "description": t["description"], "parameters": t["inputSchema"]}}
        for t in listed
    ]
    server = load(given.weights, given.threads)
    calls = []
    for request in REQUESTS:
        name, sent = call_of(server, tools, request)
        if name is None:
            entry = {"request": request, "valid": False, "why": sent}
        else:
            reply = rpc(given.url, key, "tools/call", {"name": name, "arguments": sent})
            result = reply.get("result", {})
            valid = name == "poll_question" and result.get("isError") is False
            entry = {"request": request, "valid": valid, "tool": name, "arguments": sent}
            if not valid:
                entry["why"] = reply.get("error") or result["content"][0]["text"]
        calls.append(entry)
        print(json.dumps(entry, ensure_ascii=False), flush=True)
    ran = json.loads(subprocess.check_output([pathlib.Path(__file__).resolve().parent.with_name("summaries"), "stamp", "small-model"]))
    summary = {**ran, "valid": sum(call["valid"] for call in calls), "of": len(calls), "calls": calls}
    with open("small-model.json", "w") as file:
        json.dump(summary, file, ensure_ascii=False, indent=2)
    print(f"{summary['valid']} of {summary['of']} calls are valid")
    os._exit(0)


if __name__ == "__main__":
    main()
