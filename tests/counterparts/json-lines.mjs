// Standard output carries JSON lines only, so what a library logs goes to standard error.
for (const method of ['log', 'info', 'debug', 'warn']) console[method] = console.error

// The reader has gone: nobody is left to serve.
process.stdout.on('error', () => process.exit(0))

export function printLine(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`)
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
