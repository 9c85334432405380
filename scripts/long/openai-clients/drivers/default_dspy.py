"""DSPy with its default format."""

import os
from typing import Literal

import dspy

dspy.configure(lm=dspy.LM("openai/poll", api_base="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"]))


class Grade(dspy.Signature):
    """Grade the answer."""

    question: str = dspy.InputField()
    answer: str = dspy.InputField()
    grade: Literal["pass", "fail"] = dspy.OutputField()


print(dspy.Predict(Grade)(question="How much is 2 + 2?", answer="4").grade)
