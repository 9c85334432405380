"""The official Python SDK, versions 1 and 2: python client.py <URL> <API key>"""

import asyncio
import contextlib
import importlib.metadata
import json
import sys

URL, KEY = sys.argv[1:]
HEADERS = {"Authorization": f"Bearer {KEY}"}
QUESTION = {
    "question": "Which of the two is the better one?",
    "options": ["Alpha", "Beta"],
    "confidence_threshold": 1,
}


@contextlib.asynccontextmanager
async def connected():
    if importlib.metadata.version("mcp").startswith("1."):
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(URL, headers=HEADERS) as (read, write, _):
            async with ClientSession(read, write) as session:
                await session.initialize()
                yield session
    else:
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        http = httpx2.AsyncClient(headers=HEADERS, timeout=60)
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            yield client


def member(result, *names):
    """The member of a result, by its name in either version."""
    return next(getattr(result, name) for name in names if hasattr(result, name))


async def main():
    progress = []

    async def on_progress(done, total, message):
        progress.append([done, total, message])

    async with connected() as client:

        async def call(name, arguments, **options):
            return await client.call_tool(name, arguments, **options)

        async def structured(name, arguments, **options):
            result = await call(name, arguments, **options)
            return member(result, "structured_content", "structuredContent")

        async def said(name, arguments):
            try:
                result = await call(name, arguments)
            except Exception as error:
                return str(error)
            is_error = member(result, "is_error", "isError")
            return result.content[0].text if is_error else "no error"

        tools = [tool.name for tool in (await client.list_tools()).tools]
        poll = await structured("poll_question", QUESTION, progress_callback=on_progress)
        read = await structured("get_poll_result", {"poll_id": poll["poll_id"], "include": ["votes"]})
        balance = await structured("get_balance", {})
        running = await structured("poll_question", QUESTION | {"wait_ms": 0, "pace": "thrifty"})
        cancelled = await structured("cancel_poll", {"poll_id": running["poll_id"]})
        polls = [listed["poll_id"] for listed in (await structured("list_polls", {}))["polls"]]
        errors = {
            "input": await said("poll_question", QUESTION | {"options": ["one"]}),
            "missing": await said("get_poll_result", {"poll_id": "EP-20260131-7KQ2M4X9TB"}),
            "tool": await said("no_such_tool", {}),
        }
        done = {
            "tools": tools,
            "outcome": poll["outcome"],
            "progress": progress,
            "votes": len(read["votes"]),
            "balance": balance["balance"],
            "running": running["status"],
            "cancelled": cancelled["cancelled"],
            "listed": poll["poll_id"] in polls and running["poll_id"] in polls,
            "errors": errors,
        }
        print(json.dumps(done))


asyncio.run(main())
