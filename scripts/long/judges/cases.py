"""Cases for judges: questions with known answers, read from a PyPI wheel at run time. None of them is stored here.

cases.py WHEELS     prints the cases as JSON

Each case is a question with a proposed answer, which is right in half of the cases. 25 questions come from QuaRTz
(two options) and 25 from Social IQa (three options), in the package `evals`.
"""

import json
import random
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples/ballot-forms"))

import questions  # noqa: E402

SEED = 20261126
# Questions of a set.
EACH = 25
# The text that a judge reads; both engines and `wording.py` use it.
PROMPT = "Question: {question}\n\nProposed answer: {answer}\n\nGrade the proposed answer."
DESCRIPTION = "correct if the proposed answer is right, incorrect if it is wrong"
GRADES = ["correct", "incorrect"]


def load(wheels: Path) -> list[dict]:
    """The same 50 cases every time, in mixed order."""
    draw = random.Random(SEED)
    archive = zipfile.ZipFile(next(wheels.glob("evals-*.whl")))
    cases = []
    for read in (questions.quartz, questions.socialiqa):
        usable = [question for question in read(archive) if questions.usable(question)]
        chosen = draw.sample(usable, EACH)
        for question in chosen:
            # Over both sets, half of the cases are correct.
            correct = len(cases) % 2 == 0
            wrong = draw.choice([option for option in question.options if option != question.right])
            cases.append(
                {
                    "set": question.set,
                    "question": question.text,
                    "options": question.options,
                    "right": question.right,
                    "answer": question.right if correct else wrong,
                    "label": GRADES[0] if correct else GRADES[1],
                }
            )
    draw.shuffle(cases)
    return [{"id": index, **case} for index, case in enumerate(cases)]


if __name__ == "__main__":
    json.dump(load(Path(sys.argv[1])), sys.stdout, indent=1)
