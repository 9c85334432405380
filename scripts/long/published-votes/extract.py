"""Extracts votes and gold labels from the published outputs of models on CRUX, GSM8K and MATH level 5.

    extract.py REPOSITORY FOLDER

REPOSITORY is a clone of WildEval/ZeroEval (GitHub); the outputs are those of commit 8c1485ed. Writes SET_votes.csv
(question_id, model, choice) and SET_gold.csv (question_id, answer) to FOLDER. A choice is the number of an answer among
the different answers to the question. An output without an answer is no vote, and has no row. A missing
output is no vote, too.
"""

import ast
import collections
import csv
import json
import re
import subprocess
import sys
from pathlib import Path

COMMIT = "8c1485e"
SETS = {"crux": "crux", "gsm": "gsm8k", "math-l5": "math"}
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
ANSWER = re.compile(r'"answer"\s*:\s*("(?:[^"\\]|\\.)*"(?=\s*[,}])|.*(?=\}))', re.DOTALL)


def answer_of(output):
    """Returns the last answer in an output, as text."""
    found = ANSWER.findall(output)
    if not found:
        return None
    text = found[-1].strip()
    if text.startswith('"'):
        try:
            return str(json.loads(text, strict=False))
        except json.JSONDecodeError:
            return text.strip('"')
    return text


def number(text):
    """Returns the last number in a text in one form."""
    found = NUMBER.findall(text.replace("\\!", "").replace("\\,", ""))
    if not found:
        return None
    return f"{float(found[-1].replace(',', '')):.10g}"


def literal(text):
    """Returns a Python literal in one form."""
    text = text.strip().removeprefix("assert").strip()
    text = text.split("==")[-1].strip()
    try:
        value = ast.literal_eval(text)
        # Many models leave out the quotes of a string, or the spaces at its ends.
        return "".join(value.split()) if isinstance(value, str) else repr(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return re.sub(r"\s+", "", text).strip("'\"")


# All gold answers to the questions of GSM8K and MATH level 5 are numbers.
FORMS = {"crux": literal, "gsm": number, "math-l5": number}


def main(repository, folder):
    def git(*arguments):
        return subprocess.check_output(["git", "-C", repository, *arguments], text=True)

    for name, short in SETS.items():
        form = FORMS[name]
        paths = git("ls-tree", "-r", "--name-only", COMMIT, f"result_dirs/{name}/").split()
        outputs = {}
        for path in paths:
            try:
                outputs[Path(path).stem] = json.loads(git("show", f"{COMMIT}:{path}"))
            except subprocess.CalledProcessError:
                print(f"{path} is not in this clone", file=sys.stderr)
        gold = {item["id"]: form(str(item["answer"])) for items in outputs.values() for item in items}
        answers = collections.defaultdict(dict)
        for model, items in outputs.items():
            for item in items:
                text = answer_of((item["output"] or [""])[0] or "")
                answers[item["id"]][model] = form(text) if text is not None else None
        right = {model: sum(answers[id].get(model) == gold[id] for id in gold) / len(gold) for model in outputs}
        with open(Path(folder) / f"{short}_votes.csv", "w", newline="") as votes, \
             open(Path(folder) / f"{short}_gold.csv", "w", newline="") as labels:
            votes, labels = csv.writer(votes), csv.writer(labels)
            votes.writerow(["question_id", "model", "choice"])
            labels.writerow(["question_id", "answer"])
            for id, label in gold.items():
                numbers = {label: 0}
                labels.writerow([id, 0])
                for model in sorted(outputs):
                    answer = answers[id].get(model)
                    if answer is not None:
                        votes.writerow([id, model, numbers.setdefault(answer, len(numbers))])
        missing = sum(answers[id].get(model) is None for id in gold for model in outputs)
        print(f"{short}: {len(outputs)} models, {len(gold)} questions, no vote "
              f"{missing / len(outputs) / len(gold):.4f}, mean {sum(right.values()) / len(right):.4f}, best "
              f"{max(right.values()):.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
