import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { checkPayments } from './payment-check.mjs'
import { checkStripe } from './stripe-check.mjs'

const TIME_LIMIT_MS = 60_000
const CHAIN_ID = 84532
const PYTHON = new URL('.python/bin/python', import.meta.url)
const started = []

setTimeout(() => {
  fail(new Error('the self-check took too long'))
  for (const script of started) script.process.kill()
  process.exit()
}, TIME_LIMIT_MS).unref()

try {
  await checkWallets()
  await checkProvider()
  await checkStripe(start)
  await checkPayments(start, { withPython: existsSync(PYTHON) })
  await checkStop()
  console.log('all counterparts work')
} catch (error) {
  fail(error)
} finally {
  for (const script of started) script.process.stdin.end()
  await Promise.all(started.map((script) => script.ended))
}

async function checkWallets() {
  const chain = await start('chain.mjs', String(CHAIN_ID))
  const { rpcUrl, chainId, wallet1271, factory } = await chain.nextLine()
  console.log(`chain.mjs was ready after ${chain.age()} ms`)
  assert.equal(chainId, CHAIN_ID)

  const wallets = await start('wallets.mjs')
  let lastId = 0
  const ask = async (op, members) => {
    const id = ++lastId
    wallets.process.stdin.write(`${JSON.stringify({ id, op, ...members })}\n`)
    const reply = await wallets.nextLine()
    assert.equal(reply.id, id)
    if ('error' in reply) throw new Error(reply.error)
    return reply.ok
  }
  const verifies = async (members) => (await ask('verify', members)).valid

  const { privateKey, address } = await ask('account')
  console.log(`wallets.mjs answered after ${wallets.age()} ms`)
  const fields = {
    domain: 'localhost:8080',
    address,
    uri: 'http://localhost:8080/login',
    version: '1',
    chainId,
    nonce: 'abcdefgh12345678X',
    issuedAt: '2026-01-02T03:04:05.000Z',
  }
  const allFields = {
    ...fields,
    statement: 'Sign in to the test.',
    expirationTime: '2026-01-02T03:09:05.000Z',
    notBefore: '2026-01-02T03:04:00.000Z',
    requestId: 'request-1',
    resources: ['https://example.com/terms', 'https://example.com/privacy'],
  }

  const libraries = ['viem', 'siwe', 'signinwithethereum']
  for (const given of [fields, allFields]) {
    const texts = new Set()
    for (const library of libraries) texts.add((await ask('build', { library, fields: given })).message)
    assert.equal(texts.size, 1, 'the libraries build different texts')
    for (const message of texts) {
      for (const library of libraries) assert.deepEqual(await ask('parse', { library, message }), given)
    }
  }
  for (const library of libraries) {
    await assert.rejects(ask('parse', { library, message: 'not a sign-in message' }), library)
  }

  const { message } = await ask('build', { library: 'viem', fields: allFields })
  for (const library of ['viem', 'ethers']) {
    const { signature } = await ask('sign', { library, privateKey, message })
    for (const place of [{}, { rpcUrl }]) {
      assert.equal(await verifies({ ...place, address, message, signature }), true, library)
      assert.equal(await verifies({ ...place, address, message: `${message}.`, signature }), false, library)
    }
  }

  const deployed = await ask('sign1271', { ownerPrivateKey: wallet1271.ownerPrivateKey, message })
  const atDeployed = { rpcUrl, address: wallet1271.address, ...deployed }
  assert.equal(await verifies({ ...atDeployed, message }), true)
  assert.equal(await verifies({ ...atDeployed, message: `${message}.` }), false)

  const owner = { rpcUrl, factory, ownerPrivateKey: privateKey }
  const undeployed = await ask('sign6492', { ...owner, message })
  assert.deepEqual(await ask('address6492', owner), { address: undeployed.address })
  assert.notEqual(undeployed.address, address)
  assert.equal(await verifies({ rpcUrl, ...undeployed, message }), true)
  assert.equal(await verifies({ rpcUrl, ...undeployed, message: `${message}.` }), false)
  await assert.rejects(
    ask('sign6492', { ...owner, ownerPrivateKey: wallet1271.ownerPrivateKey, message }),
    /already deployed/,
  )

  await assert.rejects(ask('dance'), /unknown choice/)
  wallets.process.stdin.write('not JSON\n')
  assert.equal((await wallets.nextLine()).id, null)
}

async function checkProvider() {
  const callback = 'http://127.0.0.1:1/callback'
  const afterLogout = 'http://127.0.0.1:1/bye'
  const provider = await start('provider.mjs', JSON.stringify({
    clientId: 'service',
    clientSecret: 'a secret of the service',
    redirectUris: [callback],
    postLogoutRedirectUris: [afterLogout],
  }))
  const { issuer } = await provider.nextLine()
  console.log(`provider.mjs was ready after ${provider.age()} ms`)

  const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()
  assert.equal(metadata.issuer, issuer)
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri))
  const control = async (path, body) => {
    const answer = await fetch(`${issuer}${path}`, { method: 'POST', body: JSON.stringify(body) })
    assert.equal(answer.status, 204)
  }

  const authorize = async (browser, extra = {}) => {
    const verifier = randomBytes(32).toString('base64url')
    const request = {
      client_id: 'service',
      response_type: 'code',
      scope: 'openid email',
      redirect_uri: callback,
      state: randomBytes(8).toString('hex'),
      nonce: randomBytes(8).toString('hex'),
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...extra,
    }
    const parameters = JSON.parse(JSON.stringify(request))
    const url = await browser(`${metadata.authorization_endpoint}?${new URLSearchParams(parameters)}`, callback)
    const answer = Object.fromEntries(url.searchParams)
    assert.equal(answer.state, request.state)
    assert.equal(answer.iss, issuer)
    return { ...request, verifier, answer }
  }
  const exchange = async ({ verifier, answer }) => {
    const credentials = ['service', 'a secret of the service'].map(encodeURIComponent).join(':')
    const response = await fetch(metadata.token_endpoint, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code', code: answer.code, redirect_uri: callback, code_verifier: verifier,
      }),
    })
    return response.json()
  }
  const signIn = async (browser) => {
    const flow = await authorize(browser)
    const { id_token: idToken } = await exchange(flow)
    const { payload, protectedHeader } = await jwtVerify(idToken, keys, { issuer, audience: 'service' })
    assert.equal(protectedHeader.alg, 'RS256')
    assert.equal(payload.nonce, flow.nonce)
    return { idToken, ...payload }
  }

  const browser = newBrowser()
  const alice = await signIn(browser)
  assert.equal(alice.sub, 'alice')
  assert.equal(alice.email, 'alice@example.com')
  assert.equal(alice.email_verified, true)

  await control('/test/account', { sub: 'bob', email: 'bob@example.com', email_verified: false })
  const bob = await signIn(browser)
  assert.deepEqual([bob.sub, bob.email, bob.email_verified], ['bob', 'bob@example.com', false])
  assert.equal((await signIn(browser)).sub, 'bob', 'a second sign-in in one session')

  await control('/test/refuse', { error: 'access_denied' })
  assert.equal((await authorize(browser)).answer.error, 'access_denied')
  assert.equal((await signIn(browser)).sub, 'bob', 'a refusal counts once')

  const wrongVerifier = { ...await authorize(browser), verifier: 'x'.repeat(43) }
  assert.equal((await exchange(wrongVerifier)).error, 'invalid_grant')
  const noChallenge = { code_challenge: undefined, code_challenge_method: undefined }
  assert.equal((await authorize(browser, noChallenge)).answer.error, 'invalid_request')

  assert.ok((await authorize(browser, { prompt: 'none' })).answer.code)
  for (const visitor of [browser, newBrowser()]) {
    const logout = new URLSearchParams({
      id_token_hint: bob.idToken, post_logout_redirect_uri: afterLogout, client_id: 'service', state: 'gone',
    })
    const end = await visitor(`${metadata.end_session_endpoint}?${logout}`, afterLogout)
    assert.equal(end.href, `${afterLogout}?state=gone`)
    assert.equal((await authorize(visitor, { prompt: 'none' })).answer.error, 'login_required')
  }
}

// Anvil must exit with chain.mjs, however chain.mjs ends.
async function checkStop() {
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    const chain = await start('chain.mjs')
    const { rpcUrl } = await chain.nextLine()
    chain.process.kill(signal)
    await chain.ended
    let answers = true
    for (let tries = 0; answers && tries < 50; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      answers = await fetch(rpcUrl).then(() => true, () => false)
    }
    assert.equal(answers, false, `anvil is still there after ${signal}`)
  }
}

async function start(file, ...args) {
  const begin = performance.now()
  const program = file.endsWith('.py') ? fileURLToPath(PYTHON) : process.execPath
  const child = spawn(program, [fileURLToPath(new URL(file, import.meta.url)), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const script = {
    process: child,
    ended: new Promise((resolve) => child.once('exit', resolve)),
    age: () => Math.round(performance.now() - begin),
    async nextLine() {
      const { value, done } = await lines.next()
      if (done) throw new Error(`${file} ended early`)
      return JSON.parse(value)
    },
  }
  started.push(script)
  return script
}

/** Follows redirects with a cookie jar until a URL begins with `goal`, and returns that URL. */
function newBrowser() {
  const jar = new Map()
  return async (address, goal) => {
    let url = new URL(address)
    for (let hops = 0; hops < 10 && !url.href.startsWith(goal); hops++) {
      const cookie = [...jar].map((pair) => pair.join('=')).join('; ')
      const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
      for (const line of response.headers.getSetCookie()) {
        const [, name, value] = line.match(/^([^=]+)=([^;]*)/)
        if (value) jar.set(name, value)
        else jar.delete(name)
      }
      const location = response.headers.get('location')
      if (!location) throw new Error(`no redirect at ${url}: ${response.status} ${await response.text()}`)
      url = new URL(location, url)
    }
    return url
  }
}

function fail(error) {
  console.error(error)
  process.exitCode = 1
}
