// A decision through the default API of OpenAI Agents, which is /v1/responses.
import { Agent, OpenAIResponsesModel, run } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

const client = new OpenAI({ baseURL: "https://polls.example.com/v1", apiKey: process.env.EP_API_KEY });
const model = new OpenAIResponsesModel(client, "poll");
const outputType = z.object({ grade: z.enum(["correct", "wrong"]) });
const judge = new Agent({ name: "Judge", instructions: "Grade the answer.", model, outputType });
console.log((await run(judge, "Question: 2 + 2? Answer: 4.")).finalOutput.grade);
