"""Uses an A2A agent with the Python client of version 1.3: JSON lines in, JSON lines out.."""

import uuid

import httpx
import jwt
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver, parse_agent_card
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.signing import SignatureVerificationError, create_signature_verifier
from a2a_lines import PATIENCE_S, code_of, serve
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt import PyJWK


def state(task):
    return TaskState.Name(task.status.state).removeprefix("TASK_STATE_").lower().replace("_", "-")


def message(part, at_once=False, task=None):
    body = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [part]}
    if task:
        body["taskId"] = task
    configuration = {"returnImmediately": at_once}
    return ParseDict({"message": body, "configuration": configuration}, SendMessageRequest())


async def refusal(call):
    try:
        await call
    except Exception as error:
        return code_of(error)
    return None


async def run(request):
    headers = {"Authorization": f"Bearer {request['key']}"}
    async with httpx.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
        card = await A2ACardResolver(http, request["url"]).get_agent_card()
        if request["binding"] == "0.3":
            selected = [one for one in card.supported_interfaces if one.protocol_version == "0.3"]
            del card.supported_interfaces[:]
            card.supported_interfaces.extend(selected)
        bindings = ["HTTP+JSON"] if request["binding"] == "HTTP+JSON" else ["JSONRPC"]

        def client(streaming):
            config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=bindings)
            return ClientFactory(config).create(card)

        return await scenario(request, client(False), client(True))


async def scenario(request, client, streaming):
    async def send(part, at_once=False, task=None):
        events = [event async for event in client.send_message(message(part, at_once, task))]
        return events[-1].task

    async def stream(events):
        names, last = [], None
        async for event in events:
            names.append(event.WhichOneof("payload").replace("_", "-"))
            if names[-1] == "status-update":
                last = state(event.status_update)
        return names, last

    data = {"data": request["question"]}
    sent = await send(data)
    got = await client.get_task(GetTaskRequest(id=sent.id, history_length=1))
    names, last = await stream(streaming.send_message(message(data)))
    asked = await send({"text": "What is the best pizza topping?"})
    completed = await send({"text": "Basil, Olives"}, task=asked.id)
    listed = None
    if request["binding"] != "0.3":
        listed = (await client.list_tasks(ListTasksRequest(page_size=2))).total_size

    row = {name: request["question"][name] for name in ("question", "options")}
    batch = await stream(streaming.send_message(message({"data": {"rows": [row]}})))

    running = await send({"data": request["slow_question"]}, at_once=True)
    subscription = aiter(streaming.subscribe(SubscribeToTaskRequest(id=running.id)))
    followed = (await anext(subscription)).WhichOneof("payload")
    push = TaskPushNotificationConfig(task_id=running.id, id="mine", url=request["webhook"])
    push = await client.create_task_push_notification_config(push)
    of_push = {"task_id": running.id, "id": "mine"}
    read = await client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**of_push))
    of_task = ListTaskPushNotificationConfigsRequest(task_id=running.id)
    pushes = await client.list_task_push_notification_configs(of_task)
    cancelled = await client.cancel_task(CancelTaskRequest(id=running.id))
    _, followed_last = await stream(subscription)
    other = TaskPushNotificationConfig(task_id=sent.id, id="gone", url=request["webhook"] + "/gone")
    ended = ParseDict({"message": MessageToDict(message(data).message) | {"taskId": sent.id}}, SendMessageRequest())

    async def drain(events):
        async for _ in events:
            pass

    wrong = {"data": {"question": "Long enough to ask?", "options": ["one"]}}
    private = TaskPushNotificationConfig(task_id=sent.id, id="x", url="https://10.0.0.1/")
    errors = {
        "unknown": await refusal(client.get_task(GetTaskRequest(id="nothing"))),
        "ended": await refusal(drain(client.send_message(ended))),
        "cancel": await refusal(client.cancel_task(CancelTaskRequest(id=sent.id))),
        "stream": await refusal(drain(streaming.send_message(message(wrong)))),
        "subscribe": await refusal(drain(streaming.subscribe(SubscribeToTaskRequest(id=sent.id)))),
        "private": await refusal(client.create_task_push_notification_config(private)),
    }
    if request["binding"] != "0.3":
        await client.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=sent.id, id=other.id)
        )
    return {
        "sent": state(sent),
        "winner": MessageToDict(sent.artifacts[0].parts[0])["data"]["winning_option"],
        "got": state(got),
        "history": len(got.history),
        "streamed": [names[0], *sorted(set(names[1:]))],
        "streamed_last": last,
        "asked": state(asked),
        "completed": state(completed),
        "listed": listed,
        "batch": [batch[0][0], batch[0][-2], batch[1]],
        "push": [push.id, read.url, len(pushes.configs)],
        "cancelled": state(cancelled),
        "subscribed": [followed, followed_last],
        "errors": errors,
    }


async def verify(request):
    """Checks the card's signatures, and reads the extended card over both bindings."""
    headers = {"Authorization": f"Bearer {request['key']}"}
    async with httpx.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
        keys = {}

        async def fetch(signatures):
            for one in signatures:
                header = jwt.get_unverified_header(f"{one['protected']}..{one['signature']}")
                for key in (await http.get(header["jku"])).json()["keys"]:
                    keys[key["kid"]] = PyJWK(key)

        def verified(card):
            try:
                create_signature_verifier(lambda kid, _: keys[kid], ["ES256"])(card)
            except SignatureVerificationError:
                return False
            return True

        seen = []
        for version in ({}, {"A2A-Version": "1.0"}):
            sent = (await http.get(request["url"] + "/.well-known/agent-card.json", headers=version)).json()
            await fetch(sent["signatures"])
            card = parse_agent_card(sent)
            seen.append(verified(card))
            card.description += "!"
            seen.append(verified(card))
        card = await A2ACardResolver(http, request["url"]).get_agent_card()
        skills = []
        for binding in ("JSONRPC", "HTTP+JSON"):
            config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding])
            extended = await ClientFactory(config).create(card).get_extended_agent_card(GetExtendedAgentCardRequest())
            skills.append(len(extended.skills))
            seen.append(verified(extended))
    return {"verified": seen, "skills": skills}


serve(lambda request: {"run": run, "verify": verify}[request["op"]](request))
