"""Serves the four models of `examples/ballot-forms` with nominal prices, and appends every request to a log.

models.py --weights FOLDER --port PORT --log FILE

The prices are invented, so that the service has a cost to report: 0.01 USD per million tokens for each 100 million
parameters, rounded.
"""

import argparse
import json
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples/ballot-forms"))

import server  # noqa: E402
import xllamacpp  # noqa: E402

# Name -> USD per million tokens, prompt and completion.
PRICES = {"smollm2-135m": 0.01, "gemma-270m": 0.03, "qwen-0.5b": 0.05, "qwen-1.5b": 0.15}


class LoggedModel(server.Model):
    """A model that records its requests with their responses and times."""

    def __init__(self, path, log, lock):
        # Two slots: the tool of a ballot, which comes first in a prompt, has its options in two orders.
        params = xllamacpp.CommonParams()
        params.model.path = path
        params.n_parallel = 2
        params.n_ctx = 2 * server.CONTEXT
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.cache_ram_mib = 0
        params.ui = False
        params.verbosity = 1
        self.engine = xllamacpp.Server(params)
        self.lock = threading.Lock()
        self.log = log
        self.log_lock = lock

    def complete(self, request):
        began = time.time()
        answer = super().complete(request)
        row = {"began": began, "seconds": time.time() - began, "request": request, "answer": answer}
        with self.log_lock:
            print(json.dumps(row), file=self.log, flush=True)
        return answer


def main():
    given = argparse.ArgumentParser()
    given.add_argument("--weights", type=Path, required=True)
    given.add_argument("--port", type=int, required=True)
    given.add_argument("--log", type=Path, required=True)
    given = given.parse_args()
    lock = threading.Lock()
    log = given.log.open("a")
    models = {name: LoggedModel(str(given.weights / f"{name}.gguf"), log, lock) for name in PRICES}
    running = server.serve(models, given.port)

    class Priced(running.RequestHandlerClass):
        def do_GET(self):
            entries = []
            for name, usd in PRICES.items():
                price = f"{usd / 1e6:.10f}"
                pricing = {"prompt": price, "completion": price}
                entries.append({"id": name, "object": "model", "owned_by": "local", "pricing": pricing})
            self.reply(200, {"object": "list", "data": entries})

    running.RequestHandlerClass = Priced
    print(f"listening on http://127.0.0.1:{running.server_port}/v1", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
