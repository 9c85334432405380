// The ways to ask for a decision with client.responses.
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const Verdict = z.object({ reason: z.string(), grade: z.enum(["pass", "fail"]) });
const client = new OpenAI({ baseURL: "https://polls.example.com/v1", apiKey: process.env.EP_API_KEY });
const text = { format: zodTextFormat(Verdict, "verdict") };
const ask = { model: "poll", input: "Question: 2 + 2? Answer: 4. Grade the answer.", text };
console.log("parse:", (await client.responses.parse(ask)).output_parsed.grade);
console.log("stream:", (await client.responses.stream(ask).finalResponse()).output_parsed.grade);
