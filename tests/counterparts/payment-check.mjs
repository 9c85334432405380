import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

const CHAIN_ID = 84532
const OTHER = '0x0000000000000000000000000000000000000001'
const VERSIONS = [1, 2]
// These servers only respond.
const SILENT = ['payer.mjs', 'payer.py', 'wallets.mjs']
const AMOUNT = 5_000_000n
const ANSWER_MS = 5_000
const NO_ANSWER_MS = 200

/** Pays with real clients through the real facilitator on the chain, and tests every fault once. */
export async function checkPayments(start, { withPython }) {
  const chain = await started('chain.mjs', String(CHAIN_ID))
  const { rpcUrl, token, payTo, facilitatorPrivateKey } = chain.ready
  const facilitator = await started('facilitator.mjs', JSON.stringify({
    rpcUrl, chainId: CHAIN_ID, privateKey: facilitatorPrivateKey,
  }))
  const { url } = facilitator.ready
  const payer = await started('payer.mjs')
  const wallets = await started('wallets.mjs')
  const balance = async (address) => BigInt((await chain.ask('balance', { address })).amount)
  const endpoint = await startEndpoint()

  try {
    const { privateKey, address } = await wallets.ask('account')
    console.log(`payer.mjs and wallets.mjs answered after ${payer.age()} ms`)
    await chain.ask('fund', { address, amount: '1000000000' })
    assert.equal(await balance(address), 1_000_000_000n)
    assert.ok((await chain.ask('blocks')).number > 0)

    const { kinds } = await (await fetch(`${url}/supported`)).json()
    assert.deepEqual(kinds.map((kind) => [kind.x402Version, kind.scheme, kind.network]), [
      [2, 'exact', `eip155:${CHAIN_ID}`], [1, 'exact', 'base-sepolia'],
    ])

    for (const version of VERSIONS) await checkVersion(version, { privateKey, address })
    await checkFrontRun({ privateKey })
    const clients = [['x402-fetch-v1', 1, payer], ['x402-fetch-v2', 2, payer]]
    if (withPython) clients.push(['x402-python', 2, await started('payer.py')])
    else console.log('payer.py was left out: .python is not there')
    for (const [client, version, script] of clients) {
      await checkClient(version, () => script.ask('pay', {
        client, url: endpoint.url, privateKey, rpcUrl, chainId: CHAIN_ID,
        body: { amount_usd: 5 }, headers: { 'x-test': 'sent' },
      }))
    }
  } finally {
    endpoint.server.close()
    endpoint.server.closeAllConnections()
  }

  async function started(file, ...args) {
    const script = await start(file, ...args)
    const greets = !SILENT.includes(file)
    const ready = greets ? await script.nextLine() : null
    if (greets) console.log(`${file} was ready after ${script.age()} ms`)
    let lastId = 0
    const ask = async (op, members) => {
      const id = ++lastId
      script.process.stdin.write(`${JSON.stringify({ id, op, ...members })}\n`)
      const reply = await script.nextLine()
      assert.equal(reply.id, id)
      if ('error' in reply) throw new Error(reply.error)
      return reply.ok
    }
    return { ready, ask, age: script.age }
  }

  async function checkVersion(version, { privateKey, address }) {
    const requirements = requirementsOf(version)
    const signed = async (overrides) => bodyOf(version, await payer.ask('sign', {
      version, requirements, privateKey, overrides,
    }))
    const moved = async (action) => {
      const before = await balance(payTo)
      const outcome = await action()
      return [outcome, await balance(payTo) - before]
    }
    const settled = (body) => moved(() => send('settle', body))

    const good = await signed()
    assert.deepEqual(await send('verify', good), { isValid: true, payer: address })
    const [receipt, amount] = await settled(good)
    assert.deepEqual([receipt.success, receipt.payer, amount], [true, address, AMOUNT])
    assert.match(receipt.transaction, /^0x[0-9a-f]{64}$/)
    assert.equal((await send('verify', good)).isValid, false, 'a replay')

    const now = Math.floor(Date.now() / 1000)
    for (const wrong of [
      { value: 1 }, { to: OTHER }, { asset: OTHER }, { chainId: 1 }, { name: 'Other' }, { from: OTHER },
      { validBefore: now - 1 }, { validAfter: now + 60 },
      { nonce: good.paymentPayload.payload.authorization.nonce },
    ]) {
      assert.equal((await send('verify', await signed(wrong))).isValid, false, JSON.stringify(wrong))
    }
    await assert.rejects(send('verify', { ...good, x402Version: 3 }), /^Error: 400 /)

    const faulty = async (operation, mode, body) => {
      await plan({ [operation]: [mode] })
      return moved(() => send(operation, body))
    }
    const fresh = await signed()
    for (const operation of ['verify', 'settle']) {
      for (const mode of ['drop', 'timeout', 'garbage', '500']) {
        await plan({ [operation]: [mode] })
        const failed = { drop: /fetch failed/, timeout: /timeout/, garbage: /JSON/, 500: /500/ }[mode]
        const patienceMs = mode === 'timeout' ? NO_ANSWER_MS : ANSWER_MS
        await assert.rejects(send(operation, fresh, patienceMs), failed, mode)
      }
    }
    assert.equal((await faulty('verify', 'reject', fresh))[0].invalidReason, 'the_test_asked_for_it')
    assert.notEqual((await faulty('verify', 'lie-payer', fresh))[0].payer, address)
    assert.equal((await faulty('verify', 'slow:10', fresh))[0].isValid, true)
    await plan({ verify: ['drop-after'] })
    await assert.rejects(send('verify', fresh), /fetch failed/)

    const [rejected, nothing] = await faulty('settle', 'reject', fresh)
    assert.deepEqual([rejected.success, rejected.errorReason, rejected.transaction, nothing], [
      false, 'the_test_asked_for_it', '', 0n,
    ])
    const [made, stillNothing] = await faulty('settle', 'lie-tx', fresh)
    assert.deepEqual([made.success, stillNothing], [true, 0n])
    const [lied, paid] = await faulty('settle', 'lie-payer', fresh)
    assert.deepEqual([lied.success, lied.payer === address, paid], [true, false, AMOUNT])

    const late = await signed()
    const [pending, pendingPaid] = await faulty('settle', 'pending', late)
    assert.deepEqual([pending.success, pending.errorReason, pendingPaid], [false, 'settlement_pending', AMOUNT])
    assert.match(pending.transaction, /^0x[0-9a-f]{64}$/)
    const again = await send('settle', late)
    // Only version 2 of the library looks for a transaction that it has already sent.
    assert.deepEqual([again.success, again.transaction], version === 2 ? [true, pending.transaction] : [false, ''])

    const [forgotten, forgottenPaid] = await faulty('settle', 'lost-receipt', await signed())
    assert.deepEqual([forgotten.success, forgottenPaid], [false, AMOUNT])
    assert.equal(forgotten.errorReason === 'settlement_pending', version === 2)

    await plan({ settle: ['drop-after'] })
    const [, cutPaid] = await moved(async () => assert.rejects(send('settle', await signed()), /fetch failed/))
    assert.equal(cutPaid, AMOUNT)
    for (const mode of ['slow:10', 'slow-after:10']) {
      assert.equal((await faulty('settle', mode, await signed()))[0].success, true)
    }
    const bodies = await Promise.all([signed(), signed(), signed()])
    const [receipts, total] = await moved(() => Promise.all(bodies.map((body) => send('settle', body))))
    assert.deepEqual([receipts.map((each) => each.success), total], [[true, true, true], 3n * AMOUNT])
  }

  async function checkFrontRun({ privateKey }) {
    const requirements = requirementsOf(2)
    const { payload } = await payer.ask('sign', { version: 2, requirements, privateKey })
    const { txHash } = await chain.ask('transferWithAuthorization', payload.payload)
    assert.match(txHash, /^0x[0-9a-f]{64}$/)
    await assert.rejects(chain.ask('transferWithAuthorization', payload.payload), /authorization is used/)
    assert.equal((await send('verify', bodyOf(2, { payload }))).isValid, false)

    const { requests } = await (await fetch(`${url}/test/requests`)).json()
    assert.deepEqual(requests.at(-1).body.paymentPayload, payload)
    await assert.rejects(plan({ settle: ['dance'] }), /no such mode/)
  }

  async function checkClient(version, pay) {
    const before = await balance(payTo)
    const paid = await pay()
    assert.deepEqual([paid.status, paid.body], [200, { version, amount_usd: 5, header: 'sent' }])
    assert.deepEqual(paid.sent.map((each) => each.status), [402, 200])
    assert.equal(paid.sent[1].payment.name, version === 1 ? 'x-payment' : 'payment-signature')
    assert.equal(await balance(payTo) - before, AMOUNT)

    for (const status of [402, 500, 503]) {
      endpoint.refuseNext = status
      const refused = await pay()
      assert.deepEqual([refused.status, refused.sent.map((each) => each.status)], [status, [402, status]])
    }
  }

  function requirementsOf(version) {
    const { name, version: tokenVersion, address: asset } = token
    const common = {
      scheme: 'exact', asset, payTo, maxTimeoutSeconds: 120, extra: { name, version: tokenVersion },
    }
    const amount = String(AMOUNT)
    if (version === 2) return { ...common, network: `eip155:${CHAIN_ID}`, amount }
    return {
      ...common,
      network: 'base-sepolia',
      maxAmountRequired: amount,
      resource: endpoint.url,
      description: 'Add $5 credit',
      mimeType: 'application/json',
    }
  }

  function bodyOf(version, { payload }) {
    return { x402Version: version, paymentPayload: payload, paymentRequirements: requirementsOf(version) }
  }

  function plan(failures) {
    return send('test/fail', failures)
  }

  async function send(path, body, patienceMs = ANSWER_MS) {
    const answer = await fetch(`${url}/${path}`, {
      method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(patienceMs),
    })
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
    return answer.json()
  }

  /** A minimal paid endpoint. */
  async function startEndpoint() {
    const place = { refuseNext: null }
    place.server = createServer(async (request, response) => {
      const { amount_usd } = await json(request)
      const header = request.headers['payment-signature'] ?? request.headers['x-payment']
      if (header && place.refuseNext) {
        response.writeHead(place.refuseNext, { 'retry-after': '1' }).end('{}')
        place.refuseNext = null
        return
      }
      if (!header) {
        const [first, second] = VERSIONS.map((x402Version) => ({
          x402Version, error: 'Payment required', accepts: [requirementsOf(x402Version)],
        }))
        const resource = { url: place.url, description: 'Add $5 credit', mimeType: 'application/json' }
        const required = Buffer.from(JSON.stringify({ ...second, resource })).toString('base64')
        response.writeHead(402, { 'content-type': 'application/json', 'payment-required': required })
        response.end(JSON.stringify(first))
        return
      }
      const payload = JSON.parse(Buffer.from(header, 'base64').toString())
      const { success } = await send('settle', bodyOf(payload.x402Version, { payload }))
      assert.equal(success, true)
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ version: payload.x402Version, amount_usd, header: request.headers['x-test'] }))
    })
    place.server.listen(0, '127.0.0.1')
    await once(place.server, 'listening')
    place.url = `http://127.0.0.1:${place.server.address().port}/api/deposit`
    return place
  }
}
