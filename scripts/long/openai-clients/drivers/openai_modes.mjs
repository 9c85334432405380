// The other ways to ask for a decision with the official client.
import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const Verdict = z.object({ reasoning: z.string(), grade: z.enum(["pass", "fail"]) });
const client = new OpenAI({ baseURL: "https://polls.example.com/v1", apiKey: process.env.EP_API_KEY });
const ask = { model: "poll", messages: [{ role: "user", content: "Question: 2 + 2? Answer: 4. Grade the answer." }] };
const tools = [zodFunction({ name: "grade", parameters: Verdict })];
const tool_choice = { type: "function", function: { name: "grade" } };
const forced = await client.chat.completions.parse({ ...ask, tools, tool_choice });
console.log("forced:", forced.choices[0].message.tool_calls[0].function.parsed_arguments.grade);
const single = await client.chat.completions.parse({ ...ask, tools });
console.log("auto:", single.choices[0].message.tool_calls[0].function.parsed_arguments.grade);
const stream = client.chat.completions.stream({ ...ask, response_format: zodResponseFormat(Verdict, "verdict") });
console.log("stream:", (await stream.finalChatCompletion()).choices[0].message.parsed.grade);
const schema = JSON.stringify({ type: "object", properties: { grade: { enum: ["pass", "fail"] } }, required: ["grade"] });
ask.messages.push({ role: "user", content: `Answer as JSON of this schema: ${schema}` });
const prompted = await client.chat.completions.create({ ...ask, response_format: { type: "json_object" } });
console.log("json_object:", JSON.parse(prompted.choices[0].message.content).grade);
