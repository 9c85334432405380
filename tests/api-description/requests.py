"""Says of each request body whether the schema of that name in an OpenAPI description accepts it."""

import json
import sys

from jsonschema import Draft202012Validator


def main():
    document = json.load(open(sys.argv[1]))
    accepted = []
    for name, body in json.loads(sys.argv[2]):
        schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        accepted.append(Draft202012Validator(schema).is_valid(body))
    print(json.dumps(accepted))


main()
