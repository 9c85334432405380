"""Pays like payer.mjs does, with the Python client: JSON lines in, JSON lines out."""

import asyncio
import json
import signal
import sys

import httpx
from eth_account import Account
from x402 import x402Client
from x402.http.clients import x402AsyncTransport
from x402.mechanisms.evm.exact import ExactEvmScheme
from x402.mechanisms.evm.signers import EthAccountSigner

PAYMENT_HEADERS = ("payment-signature", "x-payment")
PATIENCE_S = 120


class RecordingTransport(httpx.AsyncHTTPTransport):
    def __init__(self):
        super().__init__()
        self.sent = []

    async def handle_async_request(self, request):
        response = await super().handle_async_request(request)
        name = next((name for name in PAYMENT_HEADERS if name in request.headers), None)
        payment = {"name": name, "value": request.headers[name]} if name else None
        self.sent.append({"status": response.status_code, "payment": payment})
        return response


async def pay(request):
    scheme = ExactEvmScheme(EthAccountSigner(Account.from_key(request["privateKey"])))
    client = x402Client().register(f"eip155:{request['chainId']}", scheme)
    # The library does not know the test's token, and a deposit exceeds its limit of $1.
    client.set_spend_controls({"allowed_assets": True, "max_amount_per_payment": "$1000000"})
    recorder = RecordingTransport()
    async with httpx.AsyncClient(transport=x402AsyncTransport(client, recorder), timeout=PATIENCE_S) as http:
        response = await http.post(
            request["url"], json=request.get("body", {}), headers=request.get("headers", {})
        )
    return {
        "status": response.status_code,
        "headers": dict(response.headers),
        "body": parsed(response.text),
        "sent": recorder.sent,
    }


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def answer(line):
    request_id = None
    try:
        request = json.loads(line)
        request_id = request.get("id")
        if request.get("op") != "pay":
            raise ValueError(f"unknown choice: {request.get('op')}")
        return {"id": request_id, "ok": asyncio.run(pay(request))}
    except Exception as error:
        return {"id": request_id, "error": str(error) or type(error).__name__}


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
for line in sys.stdin:
    if line.strip():
        print(json.dumps(answer(line)), flush=True)
