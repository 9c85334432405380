// The cases that cases.py has written, as tests.
import { readFileSync } from "node:fs";

export default () =>
  JSON.parse(readFileSync(process.env.JUDGES_CASES, "utf8")).map(({ question, answer, label }) => ({
    vars: { question, answer, label },
  }));
