"""Asks models for the reason of a vote in different words, and counts the responses that can be shown.

    run --serve 18900 &
    python3 explanations.py http://127.0.0.1:18900/v1 qwen-1.5b qwen-0.5b smollm2-135m
"""

import json
import random
import re
import sys
import urllib.request

LONGEST = 280

QUESTIONS = [
    ("Which language should a small team choose for a new web service?", ["Rust", "Go", "Python", "TypeScript"]),
    ("Which is the better drink for a winter morning?", ["Tea", "Coffee", "Cocoa"]),
    ("Should a startup write its tests before its code?", ["Yes", "No", "It depends"]),
    ("Which city would be best for a long weekend with children?", ["Paris", "Copenhagen", "Rome", "London"]),
    ("What should a news site put first on its home page?", ["Breaking news", "Local stories", "Investigations"]),
    ("Which font is easier to read in a long article?", ["A serif font", "A sans-serif font"]),
    ("Is it fair to tip in a self-service restaurant?", ["Fair", "Unfair"]),
    ("Which pet suits a small flat best?", ["A cat", "A dog", "A hamster", "Fish"]),
    ("Where should a company of ten keep its documents?", ["A wiki", "Shared folders", "A chat tool"]),
    ("Which colour should a button for a dangerous action have?", ["Red", "Orange", "Grey"]),
    ("Which database should a new shop use?", ["PostgreSQL", "MySQL", "MongoDB", "SQLite"]),
    ('Is this review positive: "The food came cold, but the staff were lovely."', ["Positive", "Negative", "Mixed"]),
]

SYSTEM = "Answer the question by voting for one of the options."


def ballot(question, options):
    listed = "".join(f"- {option}\n" for option in options)
    return f"<question-0badcafe>\n{question}\n</question-0badcafe>\n\n<options-0badcafe>\n{listed}</options-0badcafe>"


def after_vote(vote, request):
    return lambda question, options, chosen: [
        ("system", SYSTEM),
        ("user", ballot(question, options)),
        ("assistant", vote.format(chosen)),
        ("user", request),
    ]


def in_one_message(question, options, chosen):
    request = "Give your main reason in one short sentence, and write nothing else."
    text = f"{ballot(question, options)}\n\nYou voted for: {chosen}\n\n{request}"
    return [("system", "Explain a vote in one short sentence."), ("user", text)]


FORMS = {
    "nothing else": after_vote(
        "{}", "Why did you vote for this option? Give your main reason in one short sentence, and write nothing else."
    ),
    "40 words": after_vote("{}", "Say in one sentence of at most 40 words why."),
    "one message": in_one_message,
    "because": after_vote(
        "{}", "Give the main reason for your vote, in one short sentence that starts with “Because”."
    ),
    "why": after_vote("I vote for {}.", "Why? Answer in one short sentence."),
}


def ask(url, model, messages):
    messages = [{"role": role, "content": content} for role, content in messages]
    body = json.dumps({"model": model, "messages": messages, "max_tokens": 256, "temperature": 0}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as response:
        return (json.load(response)["choices"][0]["message"].get("content") or "").strip()


def main():
    url, *models = sys.argv[1:]
    for model in models:
        for name, form in FORMS.items():
            draw, short, single, another = random.Random(4), 0, 0, 0
            for question, options in QUESTIONS:
                chosen = draw.choice(options)
                text = ask(url, model, form(question, options, chosen))
                short += 0 < len(text) <= LONGEST
                single += "\n" not in text and len(re.findall(r"[.!?](?:\s|$)", text)) <= 1
                names = [option for option in options if re.search(rf"\b{re.escape(option)}\b", text, re.I)]
                another += bool(names) and chosen not in names
            print(f"{model} | {name} | {short} short | {single} of one sentence | {another} name another option")


main()
