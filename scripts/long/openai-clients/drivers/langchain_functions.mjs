// A decision as the call of a function, with LangChain.
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

const Verdict = z.object({ grade: z.enum(["correct", "wrong"]) });
const configuration = { baseURL: "https://polls.example.com/v1" };
const model = new ChatOpenAI({ model: "poll", apiKey: process.env.EP_API_KEY, configuration });
const judge = model.withStructuredOutput(Verdict, { method: "functionCalling", name: "verdict" });
console.log((await judge.invoke("Question: 2 + 2? Answer: 4. Grade the answer.")).grade);
