import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { answerLines, onEnd, printLine } from './json-lines.mjs'

// Receives webhooks and verifies them with the Standard Webhooks library. Operations on standard input: `secret`
// sets the secret, `answer` sets the statuses of the next responses (then 204), `received` returns all requests
// so far.
const received = []
let webhook = null
let answers = []

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString()
    received.push({ method: request.method, path: request.url, headers: request.headers, body, verified: verify(body, request.headers) })
    const next = answers.shift() ?? 204
    if (next === 'drop') return request.socket.destroy()
    if (next === 'silence') return
    const { status = next, headers = {} } = typeof next === 'object' ? next : {}
    response.writeHead(status, headers).end()
  })
})

function verify(body, headers) {
  if (!webhook) return null
  try {
    return webhook.verify(body, headers)
  } catch (error) {
    return `refused: ${error.message}`
  }
}

server.listen(0, '127.0.0.1', () => printLine({ url: `http://127.0.0.1:${server.address().port}` }))
onEnd(() => server.closeAllConnections())
answerLines({
  secret: ({ secret }) => {
    webhook = secret ? new Webhook(secret) : null
    return true
  },
  answer: ({ next }) => {
    answers = next
    return true
  },
  received: () => received,
})
