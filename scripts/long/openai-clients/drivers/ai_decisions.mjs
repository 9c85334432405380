// The three kinds of questions with both providers of the AI SDK, which check sums, winner and mean.
import { createOpenAI } from "@ai-sdk/openai";
import { createTypeSafeAi } from "@ai-sdk/typesafe-ai";
import { experimental_decide as decide } from "ai";

const access = { baseURL: "https://polls.example.com/v1", apiKey: process.env.EP_API_KEY };
const questions = {
  team: {
    type: "choice",
    instructions: "Which team?",
    criteria: { billing: "Refunds.", technical: "Bugs.", other: "All else." },
  },
  refund: { type: "boolean", instructions: "Is a refund asked for?" },
  urgency: { type: "score", instructions: "How urgent is it?", criteria: ["low", "medium", "high"] },
};
const models = {
  openai: createOpenAI(access).decisionModel("poll"),
  typesafe: createTypeSafeAi(access).evaluationModel("poll"),
};
for (const [name, model] of Object.entries(models)) {
  const { answers } = await decide({ model, state: { ticket: "I was charged twice.", plan: "pro" }, questions });
  console.log(`${name}:`, JSON.stringify(answers));
}
