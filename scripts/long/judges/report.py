"""Prints the tables of the evaluation: report.py FOLDER"""

import json
import statistics
import sys
from collections import Counter
from math import comb
from pathlib import Path

JUDGES = ["panel", "qwen-1.5b", "qwen-0.5b", "gemma-270m", "smollm2-135m"]


def graded_by_promptfoo(folder, judge):
    """The grade of each case, as promptfoo has stored them."""
    path = folder / f"promptfoo-{judge}.json"
    if not path.exists():
        return
    for result in json.loads(path.read_text())["results"]["results"]:
        response = result.get("response") or {}
        output = response.get("output")
        yield {
            "label": result["vars"]["label"],
            "grade": output.get("grade") if isinstance(output, dict) else None,
            "tokens": response.get("tokenUsage", {}).get("total", 0),
        }


def graded_by_inspect(folder, judge):
    """The same, as Inspect has stored them."""
    for path in sorted((folder / f"inspect-{judge}").glob("*.json"))[-1:]:
        for sample in json.loads(path.read_text()).get("samples") or []:
            scores = list((sample.get("scores") or {}).values())
            grade = scores[0].get("answer") if scores else None
            usage = sample.get("model_usage", {})
            yield {
                "label": sample["target"],
                "grade": grade if grade in ("correct", "incorrect") else None,
                "tokens": sum(use["total_tokens"] for name, use in usage.items() if name.startswith("openai-api")),
            }


def row(folder, engine, judge, grades, polls):
    right = sum(grade["grade"] == grade["label"] for grade in grades)
    outcomes = Counter(poll["outcome"] if poll["outcome"] else poll["status"] for poll in polls["polls"])
    ties = sum(poll["is_tie"] for poll in polls["polls"])
    none = sum(not sum(poll["tally"].values()) for poll in polls["polls"])
    cost = [poll["costs"]["total_estimated_cost"] for poll in polls["polls"]]
    tokens = statistics.mean(grade["tokens"] for grade in grades)
    answered = sum(grade["grade"] is not None for grade in grades)
    correct = sum(grade["grade"] == "correct" for grade in grades)
    seconds = statistics.median(poll["timing"]["total_ms"] / 1000 for poll in polls["polls"])
    return (
        f"| {engine} | {judge} | {right} of {len(grades)} | {right} of {answered} | {ties} | {none} | {correct} "
        f"| {statistics.mean(cost) * 1e6:.1f} | {tokens:.0f} | {polls['seconds']:.0f} s | {seconds:.1f} s |"
    ), outcomes


def main():
    folder = Path(sys.argv[1])
    labels = {
        (case["question"], case["answer"]): case["label"] for case in json.loads((folder / "cases.json").read_text())
    }
    print("| engine | judge | agreement | of decided | ties | no votes | graded correct | millionths of USD per case | tokens per case | wall time | median poll |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    stored = {}
    for engine, read in (("promptfoo", graded_by_promptfoo), ("inspect", graded_by_inspect)):
        for judge in JUDGES:
            path = folder / f"polls-{engine}-{judge}.json"
            grades = list(read(folder, judge))
            if not path.exists() or not grades:
                continue
            stored[engine, judge] = polls = json.loads(path.read_text())
            print(row(folder, engine, judge, grades, polls)[0])
    print()
    shares(stored, labels)
    print()
    members(stored, labels)


def label_of(poll, labels):
    """The label of the case that a poll is about."""
    text = poll["question"]
    return next(label for (question, answer), label in labels.items() if f"{question}\n\nProposed answer: {answer}\n" in text)


def shares(stored, labels):
    print("| engine | votes for the winner | polls | right |")
    print("|---|---|---|---|")
    for (engine, judge), polls in stored.items():
        if judge != "panel":
            continue
        right, count = Counter(), Counter()
        for poll in polls["polls"]:
            votes = sorted(poll["tally"].values(), reverse=True)
            key = f"{votes[0]} of {sum(votes)}"
            count[key] += 1
            right[key] += poll["winning_option"] == label_of(poll, labels)
        for key in sorted(count, reverse=True):
            print(f"| {engine} | {key}{' (tie)' if key == '2 of 4' else ''} | {count[key]} | {right[key]} |")


def members(stored, labels):
    """The votes of each model, in polls of the panel and alone."""
    print("| model | polls | votes | right | for correct | option shown first | no vote | p (coin) |")
    print("|---|---|---|---|---|---|---|---|")
    rows = {}
    for (_, judge), polls in stored.items():
        for poll in polls["polls"]:
            for vote in poll["votes"]:
                rows.setdefault((vote["model_id"], "of the panel" if judge == "panel" else "alone"), []).append((vote, poll))
    for (model, kind), votes in sorted(rows.items()):
        voted = [(vote, poll) for vote, poll in votes if vote["chosen_option"]]
        right = sum(vote["chosen_option"] == label_of(poll, labels) for vote, poll in voted)
        correct = sum(vote["chosen_option"] == "correct" for vote, _ in voted)
        first = sum(poll["options"][vote["option_order"][0]] == vote["chosen_option"] for vote, poll in voted)
        n = len(voted)
        p = min(1.0, 2 * sum(comb(n, i) for i in range(max(right, n - right), n + 1)) / 2**n)
        print(f"| {model} | {kind} | {n} | {right} | {correct} | {first} | {len(votes) - n} | {p:.2f} |")


if __name__ == "__main__":
    main()
