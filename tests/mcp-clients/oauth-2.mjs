// The official TypeScript SDK, version 2: node oauth-2.mjs <URL>
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { serve } from './oauth-client.mjs'

const finish = (transport, callback) => transport.finishAuth(callback)
await serve({ Client, StreamableHTTPClientTransport, UnauthorizedError, finish })
