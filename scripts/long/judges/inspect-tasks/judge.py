"""An Inspect task: a judge grades 50 proposed answers, and its accuracy is the agreement with the known labels.

inspect eval judge.py --model mockllm/model -T judge=panel
"""

import json
import os
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ModelOutput, ResponseSchema, get_model
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, model_graded_qa, scorer, stderr
from inspect_ai.solver import solver
from inspect_ai.util import JSONSchema

GRADE = JSONSchema(
    type="string",
    enum=["correct", "incorrect"],
    description="correct if the proposed answer is right, incorrect if it is wrong",
)
VERDICT = JSONSchema(type="object", properties={"grade": GRADE}, required=["grade"])
TEMPLATE = "Question: {question}\n\nProposed answer: {answer}\n\n{instructions}"


@solver
def proposed_answer():
    """Takes the proposed answer of the case in place of a model's answer."""

    async def solve(state, _):
        state.output = ModelOutput.from_content("proposed", state.metadata["proposed"])
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def agreement(grader):
    """Compares the grade with the known label. A sample without a grade, as after a tie, is unscored."""
    graded = model_graded_qa(
        model=grader,
        template=TEMPLATE,
        instructions="Grade the proposed answer.",
        grade_pattern=r'"grade":\s*"(correct|incorrect)"',
    )

    async def score(state, target):
        grade = await graded(state, target)
        if grade.value not in GRADE.enum:
            return grade
        value = CORRECT if grade.value == target.text else INCORRECT
        return Score(value=value, answer=grade.value, explanation=grade.explanation)

    return score


@task
def judge(judge: str = "panel"):
    cases = json.loads(Path(os.environ["JUDGES_CASES"]).read_text())
    config = GenerateConfig(response_schema=ResponseSchema(name="verdict", json_schema=VERDICT))
    grader = get_model(
        f"openai-api/polls/{judge}",
        base_url=os.environ["JUDGES_URL"],
        api_key=os.environ["EP_API_KEY"],
        config=config,
    )
    return Task(
        dataset=[
            Sample(
                id=case["id"],
                input=case["question"],
                target=case["label"],
                metadata={"proposed": case["answer"]},
            )
            for case in cases
        ],
        solver=proposed_answer(),
        scorer=agreement(grader),
    )
