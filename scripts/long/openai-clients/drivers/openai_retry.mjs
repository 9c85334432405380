// A request that the client repeats after a second.
import OpenAI from "openai";

const access = { baseURL: "https://polls.example.com/v1", apiKey: process.env.EP_API_KEY };
const client = new OpenAI({ ...access, timeout: 1000, maxRetries: 9 });
const schema = { type: "object", properties: { grade: { enum: ["pass", "fail"] } }, required: ["grade"] };
const answer = await client.chat.completions.create({
  model: "poll",
  messages: [{ role: "user", content: "Question: 2 + 2? Answer: 4. Grade the answer." }],
  response_format: { type: "json_schema", json_schema: { name: "verdict", schema } },
});
console.log(answer.choices[0].message.content, answer.id);
