// Decisions through the AI SDK's default model of OpenAI, which uses /v1/responses.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, Output, streamText, tool } from "ai";
import { z } from "zod";

const model = createOpenAI({ baseURL: "https://polls.example.com/v1", apiKey: process.env.EP_API_KEY })("poll");
const Verdict = z.object({ reason: z.string(), grade: z.enum(["pass", "fail"]) });
const prompt = "Question: 2 + 2? Answer: 4. Grade the answer.";
const output = Output.object({ schema: Verdict });
console.log("object:", (await generateText({ model, output, prompt })).output.grade);
const stream = streamText({ model, output, prompt });
await stream.consumeStream();
console.log("stream:", (await stream.output).grade);
const tools = { grade: tool({ description: "Grades the answer.", inputSchema: Verdict }) };
console.log("tool:", (await generateText({ model, tools, toolChoice: "required", prompt })).toolCalls[0].input.grade);
