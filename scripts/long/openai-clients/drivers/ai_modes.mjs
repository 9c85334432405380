// The other ways to ask for a decision with the AI SDK.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, streamText, tool } from "ai";
import { z } from "zod";

const access = { baseURL: "https://polls.example.com/v1", apiKey: process.env.EP_API_KEY };
const chat = createOpenAI(access).chat("poll");
const compatible = createOpenAICompatible({ name: "polls", ...access })("poll");
const Verdict = z.object({ reason: z.string(), grade: z.enum(["pass", "fail"]) });
const prompt = "Question: 2 + 2? Answer: 4. Grade the answer.";
const output = Output.object({ schema: Verdict });
console.log("object:", (await generateText({ model: chat, output, prompt })).output.grade);
const stream = streamText({ model: chat, output, prompt });
await stream.consumeStream();
console.log("stream:", (await stream.output).grade);
const tools = { grade: tool({ description: "Grades the answer.", inputSchema: Verdict }) };
for (const [name, model] of Object.entries({ tool: chat, compatible })) {
  const { toolCalls } = await generateText({ model, tools, toolChoice: "required", prompt });
  console.log(`${name}:`, toolCalls[0].input.grade);
}
const right = Output.object({ schema: z.object({ right: z.boolean() }) });
console.log("boolean:", (await generateText({ model: chat, output: right, prompt })).output.right);
