import { onEnd, printLine } from './json-lines.mjs'
import { generateKeyPair } from 'node:crypto'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import Provider, { interactionPolicy } from 'oidc-provider'
import { memoryStorage } from './memory-adapter.mjs'

const client = JSON.parse(process.argv[2])
const { MemoryAdapter, forgetSessions } = memoryStorage()
const accounts = new Map()
let signedIn
let refusal

signIn({ sub: 'alice', email: 'alice@example.com', email_verified: true })

const server = createServer(handle)
// The issuer holds the port, so the port comes first.
await new Promise((resolve, reject) => {
  server.once('error', reject).listen(client.port ?? 0, '127.0.0.1', resolve)
})
const issuer = `http://127.0.0.1:${server.address().port}`
const provider = await makeProvider()
const serve = provider.callback()

onEnd(() => server.closeAllConnections())
printLine({ issuer })

async function makeProvider() {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  const signingKey = { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'test' }

  const policy = interactionPolicy.base()
  const { Check } = interactionPolicy
  // Without this, a browser that is signed in already would never reach the refusal.
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
    jwks: { keys: [signingKey] },
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    findAccount: (_ctx, sub) => accounts.has(sub) && { accountId: sub, claims: () => accounts.get(sub) },
    interactions: { policy, url: (_ctx, { uid }) => `/interaction/${uid}` },
    cookies: { keys: [signingKey.d] },
    ttl: { AccessToken: 3600, AuthorizationCode: 60, Grant: 3600, IdToken: 3600, Interaction: 3600, Session: 3600 },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: true },
    },
  })
  made.use(skipLogoutForm)
  made.on('server_error', (_ctx, error) => console.error(error))
  return made
}

async function handle(request, response) {
  try {
    const { pathname, searchParams } = new URL(request.url, issuer)
    const route = `${request.method} ${pathname}`
    if (route === 'POST /test/account') {
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
  return provider.interactionFinished(request, response, {
    login: { accountId: signedIn },
    consent: { grantId: await grant.save() },
  })
}

// A logout with an ID token needs no question, so a client without a browser is sent past the form.
async function skipLogoutForm(ctx, next) {
  await next()
  if (ctx.oidc?.route !== 'end_session' || ctx.status !== 200 || !ctx.oidc.entities.IdTokenHint) return
  ctx.redirect(`/test/logout?xsrf=${ctx.oidc.session.state.secret}`)
  ctx.status = 303
}

// Sends the form in the client's place and passes the answer on.
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
