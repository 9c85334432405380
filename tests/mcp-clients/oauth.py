"""The official Python SDK, versions 1 and 2, which gets its access tokens by itself: python oauth.py <URL>

One line of JSON asks for a tool, or for its access token to run out; one line answers with the result.
"""

import asyncio
import contextlib
import http.cookiejar
import importlib.metadata
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

(URL,) = sys.argv[1:]
FIRST = importlib.metadata.version("mcp").startswith("1.")
# Nobody listens there: the browser below stops before it.
REDIRECT = "http://127.0.0.1:1/callback"


class Storage:
    """What the SDK keeps."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Browser(urllib.request.HTTPRedirectHandler):
    """Follows redirects, with cookies, until one leads back to the client."""

    def redirect_request(self, request, file, code, message, headers, url):
        if url.startswith(REDIRECT):
            self.callback = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
            return None
        return super().redirect_request(request, file, code, message, headers, url)

    def browse(self, url):
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        try:
            urllib.request.build_opener(self, cookies, urllib.request.ProxyHandler({})).open(url).close()
        except urllib.error.HTTPError as error:
            if error.code not in (302, 303):
                raise


BROWSER = Browser()


async def redirect(url):
    await asyncio.to_thread(BROWSER.browse, url)


async def callback():
    code, state, issuer = (BROWSER.callback.get(name, [None])[0] for name in ("code", "state", "iss"))
    if FIRST:
        return code, state
    from mcp.client.auth import AuthorizationCodeResult

    return AuthorizationCodeResult(code=code, state=state, iss=issuer)


METADATA = OAuthClientMetadata(
    client_name="test", redirect_uris=[REDIRECT], token_endpoint_auth_method="none"
)
AUTH = OAuthClientProvider(URL, METADATA, Storage(), redirect_handler=redirect, callback_handler=callback)


@contextlib.asynccontextmanager
async def connected():
    if FIRST:
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(URL, auth=AUTH) as (read, write, _):
            async with ClientSession(read, write) as session:
                await session.initialize()
                yield session
    else:
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        async with httpx2.AsyncClient(auth=AUTH, timeout=60) as http_client:
            async with Client(streamable_http_client(URL, http_client=http_client)) as client:
                yield client


async def call(request):
    if request["op"] == "expire":
        AUTH.context.token_expiry_time = 1
        return None
    async with connected() as client:
        result = await client.call_tool(request["tool"], request["arguments"])
        return result.structuredContent if FIRST else result.structured_content


async def main():
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            answer = {"ok": await asyncio.wait_for(call(json.loads(line)), 60)}
        except BaseException as error:
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            request = getattr(error, "_request", None)
            where = f" ({request.method} {request.url})" if request else ""
            answer = {"error": f"{type(error).__name__}: {error}{where}"}
        print(json.dumps(answer), flush=True)


asyncio.run(main())
