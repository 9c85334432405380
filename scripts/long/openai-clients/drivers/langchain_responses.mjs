// A decision through /v1/responses, with LangChain.
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

const configuration = { baseURL: "https://polls.example.com/v1" };
const model = new ChatOpenAI({ model: "poll", apiKey: process.env.EP_API_KEY, configuration, useResponsesApi: true });
const judge = model.withStructuredOutput(z.object({ grade: z.enum(["pass", "fail"]) }));
console.log((await judge.invoke("Question: 2 + 2? Answer: 4. Grade the answer.")).grade);
