"""Checks every schema of an OpenAPI or AsyncAPI description (JSON Schema 2020-12), and where every reference leads."""

import json
import sys

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError


def target(document, reference):
    """What a reference within the document leads to."""
    assert reference.startswith("#/"), f"{reference} leaves the document"
    for part in reference[2:].split("/"):
        document = document[part.replace("~1", "/").replace("~0", "~")]
    return document


def walk(document, value, path, found):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            try:
                target(document, value["$ref"])
                found["references"] += 1
            except (KeyError, AssertionError):
                found["wrong"].append(f"{path} refers to {value['$ref']}, which is not there")
        for name, member in value.items():
            # `schema`, `payload` and `schemas` hold schemas, unless they are members of one.
            inside = f"{path}/{name}"
            if name in ("schema", "payload") and "/properties/" not in inside:
                check(member, inside, found)
            elif name == "schemas" and path == "/components":
                for title, schema in member.items():
                    check(schema, f"{inside}/{title}", found)
            walk(document, member, inside, found)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            walk(document, item, f"{path}/{place}", found)


def check(schema, path, found):
    try:
        Draft202012Validator.check_schema(schema)
        found["schemas"] += 1
    except SchemaError as error:
        found["wrong"].append(f"{path}: {error.message}")


def main():
    found = {"schemas": 0, "references": 0, "wrong": []}
    document = json.load(open(sys.argv[1]))
    walk(document, document, "", found)
    print(json.dumps(found))
    sys.exit(bool(found["wrong"]))


main()
