"""Checks events (lines of JSON with `event` and `data`) by the messages of an AsyncAPI description."""

import json
import sys

from jsonschema import Draft202012Validator


def main():
    description = json.load(open(sys.argv[1]))
    names = []
    for line in open(sys.argv[2]):
        event = json.loads(line)
        payload = description["components"]["messages"][event["event"]]["payload"]
        schema = {**payload, "components": description["components"]}
        Draft202012Validator(schema).validate(event["data"])
        names.append(event["event"])
    print(json.dumps(names))


main()
