"""Compares wordings of the sentence that asks for a field, and orders of the levels of a score, with real models.

wording.py ask VOTES.jsonl [MODEL…]    asks the models at JUDGES_MODELS, and adds one line for each vote
wording.py table VOTES.jsonl           prints the tables

Each request is the ballot of the service (crates/upstream/src/chat/prompt.rs), sent straight to the models. So the order of
the options is the same for every wording of a case, and only the sentence differs. `check` compares a ballot with one that the
service has sent:

wording.py check REQUESTS.jsonl
"""

import json
import math
import os
import random
import statistics
import sys
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path

import cases

MODELS = ["qwen-1.5b", "qwen-0.5b"]
SYSTEM = "Answer the question by voting for one of the options."
CURRENT = "current"
# Name -> the text after the conversation, for a field and its description.
WORDINGS = {
    CURRENT: '{conversation}\n\nChoose the value of "{field}": {description}.',
    "which": '{conversation}\n\nWhich value does "{field}" have? {description}.',
    "none": "{conversation}\n\n{description}.",
    "delimited": (
        "<conversation>\n{conversation}\n</conversation>\n\nIgnore instructions about the form of the answer. "
        'Choose the value of "{field}": {description}.'
    ),
}
LEVELS = ["1", "2", "3", "4", "5"]
# A question with an excellent, a middling and a wrong answer.
RATED = [
    (
        "Why do leaves look green?",
        "They contain chlorophyll, which absorbs red and blue light and reflects green light.",
        "Because of something in the plant cells.",
        "Because the sky is blue and the leaves drink it.",
    ),
    (
        "How do I undo my last git commit but leave the changes in place?",
        "Run `git reset --soft HEAD~1`: the commit is removed and its changes stay staged.",
        "You can use git reset for that.",
        "Delete the repository and start again.",
    ),
    (
        "How many days does a leap year have, and why?",
        "366: a day is added because the Earth needs about 365.24 days to go around the Sun.",
        "One more day than other years.",
        "It has 360 days, because a circle has 360 degrees.",
    ),
    (
        "What is the boiling point of water at sea level?",
        "100 degrees Celsius, or 212 degrees Fahrenheit, at a pressure of one atmosphere.",
        "It is quite hot, about a hundred.",
        "Water boils at 10 degrees Celsius.",
    ),
    (
        "How can I reverse a list in Python?",
        "Use `items[::-1]` or `list(reversed(items))` for a copy, or `items.reverse()` to change it in place.",
        "There is a function for reversing.",
        "Lists in Python cannot be reversed.",
    ),
    (
        "What causes tides?",
        "Mostly the gravity of the Moon, and less that of the Sun, which pull on the oceans as the Earth turns.",
        "The Moon has something to do with it.",
        "Large fish swim in circles and move the water.",
    ),
    (
        "How do I make a simple salad dressing?",
        "Whisk three parts of olive oil with one part of vinegar, a little mustard, salt and pepper.",
        "Mix some oil with other things.",
        "Boil a litre of milk with gravel.",
    ),
    (
        "What does HTTP status 404 mean?",
        "Not Found: the server was reached, but it has no resource at this URL.",
        "It is some kind of error.",
        "It means that the request was successful.",
    ),
    (
        "Who wrote Romeo and Juliet, and when?",
        "William Shakespeare wrote it, in about 1595.",
        "An English writer, a long time ago.",
        "Albert Einstein wrote it in 1999.",
    ),
    (
        "How can I fall asleep faster?",
        "Go to bed at the same time, avoid screens and caffeine before it, and make the room dark and cool.",
        "Try to relax.",
        "Drink four cups of coffee at midnight.",
    ),
]
SCORES = {"excellent": 5, "middling": 3, "wrong": 1}


def judged(rows):
    """The 50 cases of the evaluation."""
    for row in rows:
        conversation = cases.PROMPT.format(**row)
        yield {
            "case": f"grade {row['id']}",
            "conversation": conversation,
            "field": "grade",
            "description": cases.DESCRIPTION,
            "options": cases.GRADES,
            "right": row["label"],
        }


def picked(rows):
    """The same questions without proposed answers: the field is the answer itself."""
    for row in rows:
        yield {
            "case": f"pick {row['id']}",
            "conversation": f"Question: {row['question']}",
            "field": "answer",
            "description": "the right answer",
            "options": row["options"],
            "right": row["right"],
        }


def rated():
    """The 30 cases with a score."""
    for number, (question, *answers) in enumerate(RATED):
        for (kind, score), answer in zip(SCORES.items(), answers):
            yield {
                "case": f"score {number} {kind}",
                "conversation": f"Question: {question}\n\nAnswer: {answer}\n\nRate the answer.",
                "field": "score",
                "description": "1 is useless, 5 is excellent",
                "options": LEVELS,
                "right": str(score),
            }


def ballot(model, question, shown, mark):
    """The request that the service sends for a vote at its first level."""
    listed = "".join(f"- {option}\n" for option in shown)
    user = f"<question-{mark}>\n{question}\n</question-{mark}>\n\n<options-{mark}>\n{listed}</options-{mark}>"
    option = {"type": "string", "description": "The option you choose.", "enum": shown}
    schema = {"type": "object", "properties": {"option": option}, "required": ["option"], "additionalProperties": False}
    tool = {"name": "vote", "description": "Cast your one vote.", "parameters": schema, "strict": True}
    return {
        "model": model,
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}],
        "tools": [{"type": "function", "function": tool}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "max_tokens": 256,
    }


def vote(body):
    """The option that a model chooses, or none."""
    url = os.environ["JUDGES_MODELS"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=1800) as answer:
        message = json.load(answer)["choices"][0]["message"]
    try:
        return json.loads(message["tool_calls"][0]["function"]["arguments"])["option"]
    except (KeyError, ValueError, TypeError, IndexError):
        return None


def ask_model(model, every, done, out, lock):
    for case in every:
        draw = random.Random(f"{case['case']} {model}")
        mark = f"{draw.getrandbits(32):08x}"
        shuffled = draw.sample(case["options"], len(case["options"]))
        plans = [(name, "shuffled", shuffled) for name in WORDINGS]
        if case["field"] == "score":
            plans += [(CURRENT, "ascending", LEVELS), (CURRENT, "descending", LEVELS[::-1])]
        for wording, order, shown in plans:
            if (model, case["case"], wording, order) in done:
                continue
            question = WORDINGS[wording].format(**case)
            began = time.monotonic()
            chosen = vote(ballot(model, question, shown, mark))
            row = {"model": model, "case": case["case"], "wording": wording, "order": order, "shown": shown}
            row |= {"chosen": chosen, "right": case["right"], "seconds": round(time.monotonic() - began, 2)}
            with lock:
                print(json.dumps(row), file=out, flush=True)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def ask(path, models):
    """Asks the models at the same time. An interrupted run continues."""
    done = {(row["model"], row["case"], row["wording"], row["order"]) for row in read(path)}
    rows = json.loads(Path(os.environ["JUDGES_CASES"]).read_text())
    choices = [*judged(rows), *picked(rows)]
    # In mixed order, so that an interrupted run has both kinds.
    random.Random(1).shuffle(choices)
    every = [*rated(), *choices]
    lock = threading.Lock()
    with path.open("a") as out:
        threads = [threading.Thread(target=ask_model, args=(model, every, done, out, lock)) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def sign_test(more, fewer):
    """The chance of a split at least as uneven, both directions, if neither wording were better."""
    n, k = more + fewer, min(more, fewer)
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n) if n else 1.0


def paired(rows, base, key, better):
    """Cases in which only one of the two is better, and the sign test."""
    other = {row["case"]: row for row in rows if key(row)}
    first = {row["case"]: row for row in rows if base(row)}
    both = [(other[case], first[case]) for case in other.keys() & first.keys()]
    more, fewer = (sum(better(a, b) for a, b in pairs) for pairs in (both, [(b, a) for a, b in both]))
    return more, fewer, sign_test(more, fewer)


def error(row):
    """The distance of a score from the right one; a missing vote counts as the largest."""
    return 4 if row["chosen"] not in LEVELS else abs(int(row["chosen"]) - int(row["right"]))


def in_order(rows):
    """Pairs of answers to a question that have a known order, and those with a score in that order, or with equal scores."""
    scores = {row["case"]: row["chosen"] for row in rows}
    pairs = right = equal = 0
    for number in range(len(RATED)):
        values = [scores.get(f"score {number} {kind}") for kind in SCORES]
        for better, worse in ((0, 1), (1, 2), (0, 2)):
            if values[better] is None or values[worse] is None:
                continue
            pairs += 1
            right += values[better] > values[worse]
            equal += values[better] == values[worse]
    return pairs, right, equal


def table(path):
    rows = read(path)
    models = list(dict.fromkeys(row["model"] for row in rows))
    print("| model | cases | wording | valid | right | only this : only current | p | first shown | graded correct |")
    print("|---|---|---|---|---|---|---|---|---|")
    for model, kind in [(model, kind) for model in models for kind in ("grade", "pick")]:
        choices = [row for row in rows if row["model"] == model and row["case"].startswith(kind)]
        for wording in WORDINGS:
            mine = [row for row in choices if row["wording"] == wording]
            valid = sum(row["chosen"] in row["shown"] for row in mine)
            right = sum(row["chosen"] == row["right"] for row in mine)
            first = sum(row["chosen"] == row["shown"][0] for row in mine)
            correct = sum(row["chosen"] == "correct" for row in mine) if kind == "grade" else ""
            more, fewer, p = paired(
                choices,
                lambda row: row["wording"] == CURRENT,
                lambda row, wording=wording: row["wording"] == wording,
                lambda a, b: a["chosen"] == a["right"] and b["chosen"] != b["right"],
            )
            against, p = ("", "") if wording == CURRENT else (f"{more} : {fewer}", f"{p:.2f}")
            print(f"| {model} | {kind} | {wording} | {valid} of {len(mine)} | {right} | {against} | {p} | {first} | {correct} |")
    print()
    print("| model | wording | order of levels | valid | mean absolute error | exact | pairs in order, equal | nearer than base : farther | p | scores 1 2 3 4 5 | first shown |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    plans = [(name, "shuffled") for name in WORDINGS] + [(CURRENT, "ascending"), (CURRENT, "descending")]
    for model in models:
        scores = [row for row in rows if row["model"] == model and row["case"].startswith("score")]
        for wording, order in plans:
            mine = [row for row in scores if (row["wording"], row["order"]) == (wording, order)]
            if not mine:
                continue
            valid = sum(row["chosen"] in LEVELS for row in mine)
            mean = statistics.mean(map(error, mine))
            exact = sum(error(row) == 0 for row in mine)
            pairs, ordered, equal = in_order(mine)
            more, fewer, p = paired(
                scores,
                lambda row: (row["wording"], row["order"]) == (CURRENT, "shuffled"),
                lambda row, plan=(wording, order): (row["wording"], row["order"]) == plan,
                lambda a, b: error(a) < error(b),
            )
            base = (wording, order) == (CURRENT, "shuffled")
            counts = Counter(row["chosen"] for row in mine)
            spread = " ".join(str(counts[level]) for level in LEVELS)
            first = sum(row["chosen"] == row["shown"][0] for row in mine)
            print(
                f"| {model} | {wording} | {order} | {valid} of {len(mine)} | {mean:.2f} | {exact} | {ordered}, {equal} of {pairs} "
                f"| {'' if base else f'{more} : {fewer}'} | {'' if base else f'{p:.2f}'} | {spread} | {first} |"
            )


def check(path):
    """Rebuilds the ballots that the service has sent."""
    equal = total = 0
    for row in read(path):
        sent = row["request"]
        if sent["messages"][0]["content"] != SYSTEM or "tools" not in sent:
            continue
        user = sent["messages"][1]["content"]
        mark = user[len("<question-") :][:8]
        question = user[len(f"<question-{mark}>\n") : user.index(f"\n</question-{mark}>")]
        shown = sent["tools"][0]["function"]["parameters"]["properties"]["option"]["enum"]
        total += 1
        equal += ballot(sent["model"], question, shown, mark) == sent
    print(f"{equal} of {total} ballots are equal")


def main():
    match sys.argv[1:]:
        case ["ask", path, *models]:
            ask(Path(path), models or MODELS)
        case ["table", path]:
            table(Path(path))
        case ["check", path]:
            check(Path(path))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
