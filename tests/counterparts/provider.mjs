import { onEnd, printLine } from './json-lines.mjs'
import { generateKeyPair } from 'node:crypto'
import { SignJWT, UnsecuredJWT } from 'jose'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import Provider, { errors, interactionPolicy } from 'oidc-provider'
import { memoryStorage } from './memory-adapter.mjs'

const client = JSON.parse(process.argv[2])
const { MemoryAdapter, forgetSessions } = memoryStorage()
const accounts = new Map()
let signedIn
let refusal
// The grants of people to clients that request access tokens: one list of scopes per request; the last one
// repeats.
let grants = [['polls:read', 'polls:write']]
let asked = []
let refreshes = false
let keyFetches = 0
// Paths with a replaced response: a status, headers, a body or a delay.
let broken = {}
const scopes = ['polls:read', 'polls:write', 'account']
const resources = new URL(client.redirectUris[0]).origin

signIn({ sub: 'alice', email: 'alice@example.com', email_verified: true })

const server = createServer(handle)
// The issuer contains the port, so the port is chosen first.
await new Promise((resolve, reject) => {
  server.once('error', reject).listen(client.port ?? 0, '127.0.0.1', resolve)
})
const issuer = `http://127.0.0.1:${server.address().port}`
let signingKeys = [await newKey('test')]
const cookieKey = signingKeys[0].jwk.d
let provider = await makeProvider()
let serve = provider.callback()

onEnd(() => server.closeAllConnections())
printLine({ issuer })

async function newKey(kid) {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  return { privateKey, jwk: { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid } }
}

async function makeProvider() {
  const policy = interactionPolicy.base()
  const { Check } = interactionPolicy
  // Without this, a signed-in browser would never reach the rejection.
  policy.get('login').checks.add(new Check('refused', 'the test asked for a refusal', 'access_denied',
    () => refusal ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT))

  const made = new Provider(issuer, {
    adapter: MemoryAdapter,
    clients: [{
      client_id: client.clientId,
      client_secret: client.clientSecret,
      redirect_uris: client.redirectUris,
      post_logout_redirect_uris: client.postLogoutRedirectUris ?? [],
      id_token_signed_response_alg: 'RS256',
    }],
    jwks: { keys: signingKeys.map(({ jwk }) => jwk) },
    scopes: ['openid', 'offline_access', ...scopes],
    pkce: { required: () => true },
    claims: { openid: ['sub', 'azp'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    findAccount: (_ctx, sub) => accounts.has(sub) && { accountId: sub, claims: () => accounts.get(sub) },
    interactions: { policy, url: (_ctx, { uid }) => `/interaction/${uid}` },
    cookies: { keys: [cookieKey] },
    ttl: {
      AccessToken: 3600, AuthorizationCode: 60, Grant: 3600, IdToken: 3600, Interaction: 3600, RefreshToken: 3600,
      Session: 3600,
    },
    issueRefreshToken: () => refreshes,
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: { enabled: true, getResourceServerInfo },
      rpInitiatedLogout: { enabled: true },
    },
  })
  made.use(skipLogoutForm)
  made.on('server_error', (_ctx, error) => console.error(error))
  return made
}

/** Access tokens for the service are JWTs (RFC 9068) with the requested resource as audience (RFC 8707). */
function getResourceServerInfo(_ctx, resource) {
  if (new URL(resource).origin !== resources) throw new errors.InvalidTarget()
  return { scope: scopes.join(' '), audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }
}

async function handle(request, response) {
  try {
    const { pathname, searchParams } = new URL(request.url, issuer)
    const route = `${request.method} ${pathname}`
    if (pathname === '/jwks') keyFetches++
    if (broken[pathname]) {
      await answerBroken(broken[pathname], response)
    } else if (Object.hasOwn(controls, route)) {
      const done = JSON.stringify((await controls[route](await json(request))) ?? {})
      response.writeHead(200, { 'content-type': 'application/json' }).end(done)
    } else if (route === 'POST /test/account') {
      signIn(await json(request))
      response.writeHead(204).end()
    } else if (route === 'POST /test/refuse') {
      refusal = (await json(request)).error
      response.writeHead(204).end()
    } else if (route === 'GET /test/logout') {
      await confirmLogout(request, response, searchParams.get('xsrf'))
    } else if (route.startsWith('GET /interaction/')) {
      await finishInteraction(request, response)
    } else {
      serve(request, response)
    }
  } catch (error) {
    response.writeHead(400, { 'content-type': 'text/plain' }).end(String(error?.message ?? error))
  }
}

const controls = {
  'POST /test/grants': (given) => {
    ({ grants, refreshes = false } = given)
    asked = []
  },
  'POST /test/seen': () => ({ asked, keyFetches }),
  'POST /test/break': (given) => {
    broken = given
  },
  // Replaces the signing keys, with other key types if given.
  'POST /test/rotate': async ({ kid }) => {
    signingKeys = [await newKey(kid)]
    provider = await makeProvider()
    serve = provider.callback()
  },
  // A custom token, signed with the provider's key, another key, a secret, or unsigned.
  'POST /test/token': async ({ header = {}, claims = {}, key = 'own' }) => {
    const now = Math.floor(Date.now() / 1000)
    const payload = {
      iss: issuer, sub: 'alice', aud: resources, iat: now, exp: now + 3600, client_id: 'a-client', jti: String(Math.random()),
      scope: scopes.join(' '), ...claims,
    }
    for (const name of Object.keys(payload)) if (payload[name] === null) delete payload[name]
    if (key === 'none') return { token: new UnsecuredJWT(payload).encode() }
    const [{ privateKey, jwk }] = key === 'other' ? [await newKey('test')] : signingKeys
    const signer = key === 'secret' ? new TextEncoder().encode(JSON.stringify(jwk.n)) : privateKey
    const protectedHeader = { alg: 'RS256', typ: 'at+jwt', kid: jwk.kid, ...header }
    for (const name of Object.keys(protectedHeader)) if (protectedHeader[name] === null) delete protectedHeader[name]
    return { token: await new SignJWT(payload).setProtectedHeader(protectedHeader).sign(signer) }
  },
}

async function answerBroken({ status = 200, type = 'application/json', body = '', repeat = 1, silent }, response) {
  if (silent) return
  response.writeHead(status, { 'content-type': type })
  // Clients that stop reading close the connection.
  for (let times = 0; times < repeat && !response.destroyed; times++) {
    if (!response.write(body)) await new Promise((resolve) => response.once('drain', resolve).once('close', resolve))
  }
  response.end()
}

function signIn(claims) {
  if (typeof claims.sub !== 'string' || !claims.sub) throw new Error('sub is missing')
  if (signedIn !== claims.sub) forgetSessions()
  signedIn = claims.sub
  accounts.set(claims.sub, claims)
}

async function finishInteraction(request, response) {
  const { params } = await provider.interactionDetails(request, response)
  if (refusal) {
    const error = refusal
    refusal = undefined
    return provider.interactionFinished(request, response, { error, error_description: 'the test asked for it' })
  }
  const grant = new provider.Grant({ accountId: signedIn, clientId: params.client_id })
  grant.addOIDCScope(params.scope)
  if (params.resource) {
    const granted = grants.length > 1 ? grants.shift() : grants[0]
    const wanted = params.scope.split(' ').filter((scope) => scopes.includes(scope))
    asked.push(wanted.join(' '))
    for (const scope of wanted) {
      if (granted.includes(scope)) grant.addResourceScope(params.resource, scope)
      else grant.rejectResourceScope(params.resource, scope)
    }
  }
  return provider.interactionFinished(request, response, {
    login: { accountId: signedIn },
    consent: { grantId: await grant.save() },
  })
}

// A logout with an ID token needs no confirmation, so a client without a browser skips the form.
async function skipLogoutForm(ctx, next) {
  await next()
  if (ctx.oidc?.route !== 'end_session' || ctx.status !== 200 || !ctx.oidc.entities.IdTokenHint) return
  ctx.redirect(`/test/logout?xsrf=${ctx.oidc.session.state.secret}`)
  ctx.status = 303
}

// Submits the form for the client and forwards the response.
async function confirmLogout(request, response, xsrf) {
  const answer = await fetch(`${issuer}/session/end/confirm`, {
    method: 'POST',
    headers: { cookie: request.headers.cookie ?? '' },
    body: new URLSearchParams({ xsrf, logout: 'yes' }),
    redirect: 'manual',
  })
  response.setHeader('set-cookie', answer.headers.getSetCookie())
  if (answer.headers.has('location')) response.setHeader('location', answer.headers.get('location'))
  response.writeHead(answer.status).end(await answer.text())
}
