// The OpenAI-compatible provider without supportsStructuredOutputs: it sends no schema.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output } from "ai";

const access = { baseURL: "https://polls.example.com/v1", apiKey: process.env.EP_API_KEY };
const polls = createOpenAICompatible({ name: "polls", ...access });
await generateText({ model: polls("poll"), output: Output.choice({ options: ["pass", "fail"] }), prompt: "2 + 2 = 4?" });
