"""Checks discovery documents with the libraries that their readers use.

Reads one JSON object from standard input: `base_url`, `documents` (name to text), `headers` (name to value), `robots` (paths
with whether a crawler may fetch them), and `schemas` (the folder of the formats' JSON Schemas, or null).
Prints what it found wrong as a JSON array.
"""

import json
import re
import sys
from pathlib import Path
from urllib.robotparser import RobotFileParser

import http_sf
import jsonschema
from lxml import etree
from protego import Protego
from sectxt import Parser

wrong = []


def expect(condition, complaint):
    if not condition:
        wrong.append(complaint)


def groups(text):
    """The groups of RFC 9309 section 2.2.1: agents, and the lines that follow them."""
    found, agents, rules = [], [], []
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, _, value = (part.strip() for part in line.partition(":"))
        name = name.lower()
        if name == "user-agent":
            if rules:
                found.append((agents, rules))
                agents, rules = [], []
            agents.append(value)
        elif name != "sitemap":
            expect(agents, f"robots: {line} stands in no group")
            rules.append((name, value))
    found.append((agents, rules))
    return found


def check_robots(text, paths, base_url):
    agents = ["*"]
    for named, rules in groups(text):
        agents += named
        found = [value for name, value in rules if name == "content-signal"]
        expect(len(found) == 1, f"robots: {named} have not one content-signal")
        signals = dict(part.strip().partition("=")[::2] for part in "".join(found).split(","))
        expect(set(signals) == {"search", "ai-input", "ai-train"}, f"robots: {signals}")
        expect(set(signals.values()) <= {"yes", "no"}, f"robots: {signals}")
        unknown = {name for name, _ in rules} - {"allow", "disallow", "content-signal"}
        expect(not unknown, f"robots: search engines do not know {unknown}")
    expect(len(agents) == len(set(agents)) + 1, "robots: an agent is named twice")
    expect({"GPTBot", "ClaudeBot", "PerplexityBot", "CCBot", "Google-Extended"} <= set(agents), f"robots: {agents}")
    # Search engines take the longest rule that matches (RFC 9309), and simple crawlers the first one.
    rules, simple = Protego.parse(text), RobotFileParser()
    simple.parse(text.splitlines())
    expect(list(rules.sitemaps) == [f"{base_url}/sitemap.xml"], f"robots: {list(rules.sitemaps)}")
    for agent in agents:
        agent = "Another" if agent == "*" else agent
        for path, allowed in paths.items():
            expect(rules.can_fetch(base_url + path, agent) == allowed, f"robots: {agent} at {path} is not {allowed}")
            expect(simple.can_fetch(agent, base_url + path) == allowed, f"robots: first match: {agent} at {path}")


def check_headers(headers):
    policies = http_sf.parse(headers["ratelimit-policy"].encode(), tltype="list")
    for name, parameters in policies:
        expect(isinstance(name, str) and {"q", "w"} <= set(parameters), f"ratelimit-policy: {name} {parameters}")
    usage = http_sf.parse(headers["content-usage"].encode(), tltype="dictionary")
    tokens = {name: str(value[0]) for name, value in usage.items()}
    expect(set(tokens) == {"search", "train-ai"} and set(tokens.values()) <= {"y", "n"}, f"content-usage: {tokens}")
    for name, parameters in http_sf.parse(headers["ratelimit"].encode(), tltype="list"):
        expect(isinstance(name, str) and {"r", "t"} <= set(parameters), f"ratelimit: {name} {parameters}")


def check_security(text):
    parser = Parser(text.encode())
    for error in parser.errors:
        wrong.append(f"security.txt: {error}")


def check_schema(schemas, file, text):
    schema = json.loads(Path(schemas, file).read_text())
    checker = jsonschema.validators.validator_for(schema)
    for error in checker(schema, format_checker=checker.FORMAT_CHECKER).iter_errors(json.loads(text)):
        wrong.append(f"{file}: {error.json_path}: {error.message}")


SCHEMAS = {
    "ai_catalog": "ai-catalog-ard-v0.9.schema.json",
    "ai_plugin": "ai-plugin-v1.schema.json",
    "api_catalog": "linkset-rfc9264.schema.json",
    "mcp_registry_server": "mcp-registry-server-2025-12-11.schema.json",
    "mcp_server_card": "mcp-server-card.schema.json",
    "protected_resource": "oauth-protected-resource-rfc9728.schema.json",
    "protected_resource_mcp": "oauth-protected-resource-rfc9728.schema.json",
    "protected_resource_a2a": "oauth-protected-resource-rfc9728.schema.json",
}


def main():
    asked = json.load(sys.stdin)
    documents, base_url = asked["documents"], asked["base_url"]
    check_robots(documents["robots"], asked["robots"], base_url)
    check_headers(asked["headers"])
    check_security(documents["security"])
    sitemap = etree.fromstring(documents["sitemap"].encode())
    expect(all(re.match(re.escape(base_url) + "/", loc) for loc in sitemap.itertext("{*}loc")), "sitemap: another host")
    etree.fromstring(documents["logo"].encode())
    for name, text in documents.items():
        if text.startswith("<!doctype html>"):
            etree.fromstring(text.encode(), etree.HTMLParser(recover=False))
        if text.startswith("{"):
            json.loads(text)
    if asked["schemas"]:
        schema = etree.XMLSchema(etree.parse(str(Path(asked["schemas"], "sitemap-0.9.xsd"))))
        expect(schema.validate(sitemap), f"sitemap: {schema.error_log}")
        for name, file in SCHEMAS.items():
            if name in documents:
                check_schema(asked["schemas"], file, documents[name])
    print(json.dumps(wrong))


main()
