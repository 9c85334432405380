// Writes the tokens (o200k_base) of the structured content of poll_question, for three short and ten long options, to
// summary.md.
//
//   npm install --no-save gpt-tokenizer@4.0.0 && EP_URL=… EP_API_KEY=… node count.mjs
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

import { encode } from 'gpt-tokenizer/encoding/o200k_base'

const words = 'Keep the existing service and rewrite only its slowest part in a language that compiles, then measure the whole thing again before anyone decides about the remaining parts of it for the next year'.split(' ')
const long = Array.from({ length: 10 }, (_, n) => `${n}: ${[...words.slice(n), ...words.slice(0, n)].join(' ')}`.slice(0, 195).trim())
const lines = []
for (const options of [['Jupiter', 'Saturn', 'Earth'], long]) {
  const params = { name: 'poll_question', arguments: { question: 'Which of these is the right one to choose?', options } }
  const response = await fetch(`${process.env.EP_URL}/api/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${process.env.EP_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  })
  const { result } = await response.json()
  lines.push(`- ${options.length} options: ${encode(JSON.stringify(result.structuredContent)).length} tokens`)
}
const ran = execFileSync(`${import.meta.dirname}/../summaries`, ['stamp', 'tokens', '--markdown'], { encoding: 'utf8' })
const summary = `# Tokens of the structured content of poll_question (o200k_base)\n\n${lines.join('\n')}\n\n${ran}`
writeFileSync(`${import.meta.dirname}/summary.md`, summary)
console.log(summary)
