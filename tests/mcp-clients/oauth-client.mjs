// A client of the MCP endpoint that gets its access tokens by itself: discovery, registration, a person's consent in a
// browser, and the exchange are the SDK's. One line of JSON asks for a tool, one line answers with its result.
import { answerLines } from '../counterparts/json-lines.mjs'

// Nobody listens there: the browser below stops before it.
const REDIRECT = 'http://127.0.0.1:1/callback'
const ATTEMPTS = 3

/** What the SDK keeps between connections, and the browser that it sends people to. */
class Keeper {
  redirectUrl = REDIRECT
  clientMetadata = {
    client_name: 'test', redirect_uris: [REDIRECT], grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'], token_endpoint_auth_method: 'none',
  }

  clientInformation = () => this.information
  saveClientInformation = (information) => { this.information = information }
  tokens = () => this.stored
  saveTokens = (tokens) => { this.stored = tokens }
  codeVerifier = () => this.verifier
  saveCodeVerifier = (verifier) => { this.verifier = verifier }
  redirectToAuthorization = async (url) => { this.callback = await browse(url) }
}

/** Follows redirects as a browser does, with its cookies, until one leads back to the client. */
async function browse(url) {
  const cookies = new Map()
  for (let hops = 0; hops < 10; hops++) {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const set of response.headers.getSetCookie()) {
      const [name, ...value] = set.split(';')[0].split('=')
      cookies.set(name, value.join('='))
    }
    const location = response.headers.get('location')
    if (!location) throw new Error(`${response.status} from ${url}: ${await response.text()}`)
    url = new URL(location, url)
    if (url.href.startsWith(REDIRECT)) return url.searchParams
  }
  throw new Error('the browser is sent on and on')
}

/** Answers calls with this SDK. `finish` takes what a browser comes back with. */
export async function serve({ Client, StreamableHTTPClientTransport, UnauthorizedError, finish }) {
  const [url] = process.argv.slice(2)
  const authProvider = new Keeper()
  const call = async ({ tool, arguments: input }) => {
    for (let attempt = 1; ; attempt++) {
      const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider })
      const client = new Client({ name: 'test', version: '1' })
      try {
        await client.connect(transport)
        const result = await client.callTool({ name: tool, arguments: input })
        return result.structuredContent
      } catch (error) {
        if (!(error instanceof UnauthorizedError) || attempt === ATTEMPTS) throw error
        await finish(transport, authProvider.callback)
      } finally {
        await client.close()
      }
    }
  }
  await answerLines({ call })
}
