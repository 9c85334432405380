"""Uses an A2A agent with the Python client of version 0.2: JSON lines in, JSON lines out."""

import uuid

import httpx
from a2a.client import A2ACardResolver, A2AClient
from a2a.types import (
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    SendMessageRequest,
    SendStreamingMessageRequest,
    SetTaskPushNotificationConfigRequest,
)
from a2a_lines import PATIENCE_S, serve


def params(part, at_once=False, task=None):
    kind = "data" if "data" in part else "text"
    body = {"messageId": str(uuid.uuid4()), "role": "user", "parts": [{"kind": kind, **part}], "taskId": task}
    return {"message": body, "configuration": {"blocking": not at_once, "acceptedOutputModes": []}}


def code(response):
    error = getattr(response.root, "error", None)
    return error and (getattr(error, "root", error)).code


async def run(request):
    headers = {"Authorization": f"Bearer {request['key']}"}
    async with httpx.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
        card = await A2ACardResolver(http, request["url"]).get_agent_card()
        client = A2AClient(http, agent_card=card)

        async def send(part, at_once=False, task=None):
            body = SendMessageRequest(id=str(uuid.uuid4()), params=params(part, at_once, task))
            return await client.send_message(body)

        async def stream(part):
            body = SendStreamingMessageRequest(id=str(uuid.uuid4()), params=params(part))
            return [event.root async for event in client.send_message_streaming(body)]

        async def call(method, kind, **given):
            return await method(kind(id=str(uuid.uuid4()), params=given))

        data = {"data": request["question"]}
        sent = (await send(data)).root.result
        got = (await call(client.get_task, GetTaskRequest, id=sent.id, historyLength=1)).root.result
        events = await stream(data)
        names = [event.result.kind for event in events]
        asked = (await send({"text": "What is the best pizza topping?"})).root.result
        completed = (await send({"text": "Basil, Olives"}, task=asked.id)).root.result
        running = (await send({"data": request["slow_question"]}, at_once=True)).root.result
        set_push, get_push = SetTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest
        config = {"id": "mine", "url": request["webhook"]}
        push = await call(client.set_task_callback, set_push, taskId=running.id, pushNotificationConfig=config)
        read = await call(client.get_task_callback, get_push, id=running.id, pushNotificationConfigId="mine")
        cancelled = (await call(client.cancel_task, CancelTaskRequest, id=running.id)).root.result
        wrong = {"data": {"question": "Long enough to ask?", "options": ["one"]}}
        private = {"url": "https://10.0.0.1/"}
        private = await call(client.set_task_callback, set_push, taskId=sent.id, pushNotificationConfig=private)
        return {
            "sent": sent.status.state.value,
            "winner": sent.artifacts[0].parts[0].root.data["winning_option"],
            "got": got.status.state.value,
            "history": len(got.history),
            "streamed": [names[0], *sorted(set(names[1:]))],
            "streamed_last": events[-1].result.status.state.value,
            "asked": asked.status.state.value,
            "completed": completed.status.state.value,
            "listed": None,
            "push": [
                push.root.result.push_notification_config.id,
                read.root.result.push_notification_config.url,
                1,
            ],
            "cancelled": cancelled.status.state.value,
            "subscribed": None,
            "errors": {
                "unknown": code(await call(client.get_task, GetTaskRequest, id="nothing")),
                "ended": code(await send(data, task=sent.id)),
                "cancel": code(await call(client.cancel_task, CancelTaskRequest, id=sent.id)),
                "stream": (await stream(wrong))[0].error.code,
                "subscribe": None,
                "private": code(private),
            },
        }


serve(run)
