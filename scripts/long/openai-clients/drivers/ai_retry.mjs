// A request that the AI SDK repeats when its connection is closed. It never repeats after a timeout.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, Output } from "ai";

const openai = createOpenAI({ baseURL: "https://polls.example.com/v1", apiKey: process.env.EP_API_KEY });
const { output } = await generateText({
  model: openai.chat("poll"),
  output: Output.choice({ options: ["pass", "fail"] }),
  prompt: "Question: 2 + 2? Answer: 4. Grade the answer.",
  maxRetries: 9,
});
console.log(output);
