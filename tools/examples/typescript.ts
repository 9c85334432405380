// Asks AI models to vote, and reads the result: node example.ts (Node 22.18 or newer), or any runtime with fetch.
// Without EP_API_KEY it asks the free models; with an API key in EP_API_KEY also a larger panel, which costs a little.

const base = {{base_url}}

async function call(path: string, init: RequestInit = {}): Promise<any> {
  const response = await fetch(base + path, init)
  const body = await response.json()
  if (!response.ok) throw new Error(`${response.status}: ${body.error}`)
  return body
}

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<any> {
  return call(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

// Free: open-weight models, no account.
const free = await post('{{poll_free}}', {{poll_free.body}})
console.log(`${free.answer} (${free.reasoning})`)

const key = process.env.EP_API_KEY
if (key) {
  // With an account. The Idempotency-Key makes it safe to send the same request again.
  const poll = await post('{{poll_question}}', {{poll_question.body}}, {
    Authorization: `Bearer ${key}`,
    'Idempotency-Key': crypto.randomUUID(),
  })
  // The result, for anyone who knows the id. While the poll runs, its status is running or queued.
  let result: any
  do {
    result = await call(`{{get_poll_result}}?wait_ms=20000`)
  } while (['running', 'queued'].includes(result.status))
  console.log(result.outcome, result.tally, `confidence ${result.confidence}`)
}
