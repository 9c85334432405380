"""Chooses the credential of each operation, and leaves out what is no mistake although the description's types do not hold it:
empty optional members.

`null`, `""` and `[]` count as left out, as the description of each request says. As types they would be a union for each
member, which generated clients would carry everywhere.
"""

import os
from zlib import crc32

import schemathesis

EMPTY = (None, "", [])


@schemathesis.auth(refresh_interval=None)
class Credential:
    """A session for operations that take only one, and for half of those that also take a key; a key for all others."""

    def get(self, case, context):
        definition = case.operation.definition.raw
        accepted = {name for alternative in definition.get("security", []) for name in alternative}
        name = definition["operationId"]
        if name == "logout":  # The session would end with it.
            return None
        if "session" in accepted and ("apiKey" not in accepted or crc32(name.encode()) % 2):
            return "Cookie", os.environ["EP_SESSION"]
        return ("Authorization", f"Bearer {os.environ['EP_KEY']}") if "apiKey" in accepted else None

    def set(self, case, data, context):
        if data:
            header, value = data
            case.headers = {**(case.headers or {}), header: value}


def required_of_body(case):
    raw = case.operation.definition.raw.get("requestBody", {})
    content = next(iter(raw.get("content", {}).values()), {})
    schema = content.get("schema", {})
    names = set()
    while "$ref" in schema:
        target = case.operation.schema.raw_schema
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    for part in [schema, *schema.get("anyOf", []), *schema.get("oneOf", [])]:
        names.update(part.get("required", []))
    return names


def has_empty(members, required):
    if not isinstance(members, dict):
        return False
    return any(value in EMPTY and name not in required for name, value in members.items())


@schemathesis.hook
def filter_case(context, case):
    required = {one["name"] for one in case.operation.definition.raw.get("parameters", []) if one.get("required")}
    return not (has_empty(case.body, required_of_body(case)) or has_empty(case.query, required))
