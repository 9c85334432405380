"""Shared code of the A2A clients: requests and responses as JSON lines."""

import asyncio
import json
import signal
import sys

PATIENCE_S = 60


def code_of(error):
    """The code or name of an error that a client raises."""
    for name in ("code", "error_code"):
        code = getattr(error, name, None)
        if isinstance(code, int):
            return code
    inner = getattr(error, "error", None)
    if inner is not None and hasattr(inner, "code"):
        return inner.code
    return type(error).__name__


def serve(run):
    """Responds to each line of standard input with one line, until the input closes."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(answer(run, json.loads(line))), flush=True)


def answer(run, request):
    try:
        return {"ok": asyncio.run(asyncio.wait_for(run(request), PATIENCE_S))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
