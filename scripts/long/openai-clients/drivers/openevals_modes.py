"""The other judges of OpenEvals: yes or no, and a LangChain model."""

import os

from langchain_openai import ChatOpenAI
from openai import OpenAI
from openevals.llm import create_llm_as_judge
from openevals.prompts import CONCISENESS_PROMPT

url, key = "https://polls.example.com/v1", os.environ["EP_API_KEY"]
asked = {"inputs": "How much is 2 + 2?", "outputs": "4"}
for name, client in {
    "boolean": OpenAI(base_url=url, api_key=key),
    "langchain": ChatOpenAI(model="poll", base_url=url, api_key=key),
}.items():
    judge = create_llm_as_judge(prompt=CONCISENESS_PROMPT, judge=client, model="poll")
    print(f"{name}:", judge(**asked)["score"])
