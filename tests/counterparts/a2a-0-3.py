"""Uses an A2A agent with the Python client of version 0.3: JSON lines in, JSON lines out."""

import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    Message,
    PushNotificationConfig,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
)
from a2a_lines import PATIENCE_S, code_of, serve


def message(part, task=None):
    kind = "data" if "data" in part else "text"
    body = {"messageId": str(uuid.uuid4()), "role": "user", "parts": [{"kind": kind, **part}], "taskId": task}
    return Message.model_validate(body)


async def refusal(call):
    try:
        await call
    except Exception as error:
        return code_of(error)
    return None


async def drain(events):
    async for _ in events:
        pass


async def run(request):
    headers = {"Authorization": f"Bearer {request['key']}"}
    async with httpx.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
        card = await A2ACardResolver(http, request["url"]).get_agent_card()

        def client(streaming, polling=False):
            config = ClientConfig(httpx_client=http, streaming=streaming, polling=polling)
            return ClientFactory(config).create(card)

        client, streaming, polling = client(False), client(True), client(False, True)
        data = {"data": request["question"]}

        async def send(part, task=None, by=client):
            async for event in by.send_message(message(part, task)):
                last = event
            return last[0] if isinstance(last, tuple) else last

        async def stream(events):
            names, last = [], None
            async for task, update in events:
                names.append(update.kind if update else "task")
                last = task.status.state.value
            return names, last

        sent = await send(data)
        got = await client.get_task(TaskQueryParams(id=sent.id, history_length=1))
        names, last = await stream(streaming.send_message(message(data)))
        asked = await send({"text": "What is the best pizza topping?"})
        completed = await send({"text": "Basil, Olives"}, asked.id)
        running = await send({"data": request["slow_question"]}, by=polling)
        subscription = aiter(streaming.resubscribe(TaskIdParams(id=running.id)))
        _, update = await anext(subscription)
        followed = update.kind if update else "task"
        config = PushNotificationConfig(id="mine", url=request["webhook"])
        push = await client.set_task_callback(
            TaskPushNotificationConfig(task_id=running.id, push_notification_config=config)
        )
        of_push = GetTaskPushNotificationConfigParams(id=running.id, push_notification_config_id="mine")
        read = await client.get_task_callback(of_push)
        cancelled = await client.cancel_task(TaskIdParams(id=running.id))
        _, followed_last = await stream(subscription)
        wrong = {"data": {"question": "Long enough to ask?", "options": ["one"]}}
        private = TaskPushNotificationConfig(
            task_id=sent.id, push_notification_config=PushNotificationConfig(url="https://10.0.0.1/")
        )
        return {
            "sent": sent.status.state.value,
            "winner": sent.artifacts[0].parts[0].root.data["winning_option"],
            "got": got.status.state.value,
            "history": len(got.history),
            "streamed": [names[0], *sorted(set(names[1:]))],
            "streamed_last": last,
            "asked": asked.status.state.value,
            "completed": completed.status.state.value,
            "listed": None,
            "push": [push.push_notification_config.id, read.push_notification_config.url, 1],
            "cancelled": cancelled.status.state.value,
            "subscribed": [followed, followed_last],
            "errors": {
                "unknown": await refusal(client.get_task(TaskQueryParams(id="nothing"))),
                "ended": await refusal(send(data, sent.id)),
                "cancel": await refusal(client.cancel_task(TaskIdParams(id=sent.id))),
                "stream": await refusal(drain(streaming.send_message(message(wrong)))),
                "subscribe": await refusal(drain(streaming.resubscribe(TaskIdParams(id=sent.id)))),
                "private": await refusal(client.set_task_callback(private)),
            },
        }


serve(run)
