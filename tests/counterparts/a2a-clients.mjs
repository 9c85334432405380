// Uses an A2A agent with the JavaScript clients of versions 1.3 and 0.3: JSON lines in, JSON lines out. `run`
// takes the agent's `url`, a `key`, the `version` of the client, the `binding`, a `question`, a `slow_question`
// and a `webhook`.
import { randomUUID } from 'node:crypto'
import * as newer from '@a2a-js/sdk/client'
import { SendMessageRequest, taskStateToJSON, verifyAgentCardSignature } from '@a2a-js/sdk'
import * as older from '@a2a-js/sdk-0.3/client'
import { base64url, decodeProtectedHeader, flattenedVerify } from 'jose'
import { answerLines, choose } from './json-lines.mjs'

const wrong = { question: 'Long enough to ask?', options: ['one'] }

async function refusal(call) {
  try {
    await call()
  } catch (error) {
    return error.code ?? error.errorResponse?.error?.code ?? error.constructor.name
  }
  return null
}

async function drain(events) {
  const all = []
  for await (const event of events) all.push(event)
  return all
}

const withKey = (key) => (input, init = {}) => {
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${key}`)
  return fetch(input, { ...init, headers })
}

/** The client functions of version 1.3, which uses protocol 1.0. */
async function versionOne({ url, key, binding }) {
  const fetchImpl = withKey(key)
  const transports = {
    JSONRPC: () => new newer.JsonRpcTransportFactory({ fetchImpl }),
    'HTTP+JSON': () => new newer.RestTransportFactory({ fetchImpl }),
  }
  const options = { transports: [choose(transports, binding)()], preferredTransports: [binding] }
  const client = await new newer.ClientFactory(options).createFromUrl(url)
  const state = (task) => taskStateToJSON(task.status.state).replace('TASK_STATE_', '').toLowerCase().replace('_', '-')
  const message = (part, { atOnce = false, task = '' } = {}) =>
    SendMessageRequest.fromJSON({
      message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [part], taskId: task },
      configuration: { returnImmediately: atOnce },
    })
  const name = (event) => event.payload.$case.replace('Update', '-update')
  return {
    state,
    name,
    send: (part, more) => client.sendMessage(message(part, more)),
    stream: (part) => client.sendMessageStream(message(part)),
    lastState: (event) => state(event.payload.value),
    get: (id) => client.getTask({ tenant: '', id, historyLength: 1 }),
    data: (task) => task.artifacts[0].parts[0].content.value,
    list: async () => (await client.listTasks({ tenant: '', contextId: '', status: 0, pageSize: 2, pageToken: '', statusTimestampAfter: undefined })).totalSize,
    cancel: (id) => client.cancelTask({ tenant: '', id, metadata: undefined }),
    subscribe: (id) => client.resubscribeTask({ tenant: '', id }),
    setPush: async (taskId, id, pushUrl) =>
      (await client.createTaskPushNotificationConfig({ tenant: '', taskId, id, url: pushUrl, token: '', authentication: undefined })).id,
    getPush: async (taskId, id) => (await client.getTaskPushNotificationConfig({ tenant: '', taskId, id })).url,
    listPushes: async (taskId) =>
      (await client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' })).configs.length,
  }
}

/** The client functions of version 0.3. */
async function versionZero({ url, key }) {
  const transports = [new older.JsonRpcTransportFactory({ fetchImpl: withKey(key) })]
  const client = await new older.ClientFactory({ transports }).createFromUrl(url)
  const state = (task) => task.status.state
  const message = (part, { atOnce = false, task } = {}) => ({
    message: {
      kind: 'message',
      messageId: randomUUID(),
      role: 'user',
      parts: [{ kind: 'data' in part ? 'data' : 'text', ...part }],
      ...(task && { taskId: task }),
    },
    configuration: { blocking: !atOnce },
  })
  return {
    state,
    name: (event) => event.kind,
    send: (part, more) => client.sendMessage(message(part, more)),
    stream: (part) => client.sendMessageStream(message(part)),
    lastState: state,
    get: (id) => client.getTask({ id, historyLength: 1 }),
    data: (task) => task.artifacts[0].parts[0].data,
    list: async () => null,
    cancel: (id) => client.cancelTask({ id }),
    subscribe: (id) => client.resubscribeTask({ id }),
    setPush: async (taskId, id, pushUrl) =>
      (await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: { id, url: pushUrl } }))
        .pushNotificationConfig.id,
    getPush: async (taskId, id) =>
      (await client.getTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: id })).pushNotificationConfig.url,
    listPushes: async (taskId) => (await client.listTaskPushNotificationConfig({ id: taskId })).length,
  }
}

async function run(request) {
  const agent = await choose({ '1.3': versionOne, '0.3': versionZero }, request.version)(request)
  const data = { data: request.question }
  const summary = (events) => {
    const names = events.map(agent.name)
    return [names[0], ...[...new Set(names.slice(1))].sort()]
  }
  const sent = await agent.send(data)
  const got = await agent.get(sent.id)
  const streamed = await drain(agent.stream(data))
  const asked = await agent.send({ text: 'What is the best pizza topping?' })
  const completed = await agent.send({ text: 'Basil, Olives' }, { task: asked.id })
  const listed = await agent.list()
  const running = await agent.send({ data: request.slow_question }, { atOnce: true })
  const subscription = agent.subscribe(running.id)
  const { value: first } = await subscription.next()
  const push = [await agent.setPush(running.id, 'mine', request.webhook), await agent.getPush(running.id, 'mine')]
  push.push(await agent.listPushes(running.id))
  const cancelled = await agent.cancel(running.id)
  const followed = [first, ...(await drain(subscription))]
  return {
    sent: agent.state(sent),
    winner: agent.data(sent).winning_option,
    got: agent.state(got),
    history: got.history.length,
    streamed: summary(streamed),
    streamed_last: agent.lastState(streamed.at(-1)),
    asked: agent.state(asked),
    completed: agent.state(completed),
    listed,
    push,
    cancelled: agent.state(cancelled),
    subscribed: [agent.name(followed[0]), agent.lastState(followed.at(-1))],
    errors: {
      unknown: await refusal(() => agent.get('nothing')),
      ended: await refusal(() => agent.send(data, { task: sent.id })),
      cancel: await refusal(() => agent.cancel(sent.id)),
      stream: await refusal(() => drain(agent.stream({ data: wrong }))),
      subscribe: await refusal(() => drain(agent.subscribe(sent.id))),
      private: await refusal(() => agent.setPush(sent.id, 'x', 'https://10.0.0.1/')),
    },
  }
}

/** Returns JSON with sorted fields (RFC 8785, as far as cards need it). */
const canonical = (value) =>
  JSON.stringify(value, (_, member) =>
    member && typeof member === 'object' && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member)

/** Verifies the card's signatures: with the client's verifier, and over every served byte. */
async function verify({ url, key }) {
  const get = async (path, headers = {}) => (await fetch(path, { headers })).json()
  const keyOf = async (kid, jku) => (await get(jku)).keys.find((one) => one.kid === kid)
  const passes = (check) => check.then(() => true, () => false)
  const whole = async ({ signatures, ...card }) => {
    const payload = base64url.encode(canonical(card))
    return passes(Promise.any(signatures.map(async (one) => {
      const { kid, jku } = decodeProtectedHeader(one)
      return flattenedVerify({ ...one, payload }, await keyOf(kid, jku))
    })))
  }
  const check = async (card) => [await passes(verifyAgentCardSignature(keyOf)(card)), await whole(card)]
  const seen = []
  for (const version of [{}, { 'a2a-version': '1.0' }]) {
    const card = await get(`${url}/.well-known/agent-card.json`, version)
    seen.push(...await check(card), ...await check({ ...card, description: 'another' }))
  }
  const transports = [new newer.JsonRpcTransportFactory({ fetchImpl: withKey(key) })]
  const client = await new newer.ClientFactory({ transports }).createFromUrl(url)
  return { verified: seen, skills: (await client.getAgentCard()).skills.length }
}

await answerLines({ run, verify })
