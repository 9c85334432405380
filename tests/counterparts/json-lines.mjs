import { createInterface } from 'node:readline'

// Standard output contains only JSON lines, so library logs go to standard error.
for (const method of ['log', 'info', 'debug', 'warn']) console[method] = console.error

// The reader has closed the pipe.
process.stdout.on('error', () => process.exit(0))

export function printLine(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}

/** Responds to each line of standard input with one line, in order, until the input closes. */
export async function answerLines(operations) {
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim()) printLine(await answer(operations, line))
  }
}

export function choose(table, name) {
  if (!Object.hasOwn(table, name)) throw new Error(`unknown choice: ${name}`)
  return table[name]
}

/** Runs `stop` once, when standard input closes (the parent ended) or on SIGTERM or SIGINT. */
export function onEnd(stop) {
  let stopping = false
  const once = () => {
    if (stopping) return
    stopping = true
    Promise.resolve(stop()).finally(() => process.exit(0))
  }
  process.stdin.on('end', once).on('error', once).resume()
  process.on('SIGTERM', once).on('SIGINT', once)
}

async function answer(operations, line) {
  let id = null
  try {
    const request = JSON.parse(line)
    id = request.id ?? null
    return { id, ok: await choose(operations, request.op)(request) }
  } catch (error) {
    return { id, error: String(error?.message || error?.type || error) }
  }
}
