"""A predicate and a score about a conversation, with LangChain."""

import os

from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai.decisions import OpenAIDecisions, Predicate, Score

decisions = OpenAIDecisions(model="poll", base_url="https://polls.example.com/v1", api_key=os.environ["EP_API_KEY"])
questions = {
    "refund": Predicate(instructions="A refund is asked for."),
    "anger": Score(instructions="How angry?", levels=["calm", "angry"]),
}
conversation = [HumanMessage("I was charged twice."), AIMessage("I am sorry."), HumanMessage("Pay it back.")]
response = decisions.invoke({"input": conversation, "questions": questions})
print(response.predicates["refund"].probability, response.scores["anger"].score)
