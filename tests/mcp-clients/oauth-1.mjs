// The official TypeScript SDK, version 1: node oauth-1.mjs <URL>
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { serve } from './oauth-client.mjs'

const finish = (transport, callback) => transport.finishAuth(callback.get('code'))
await serve({ Client, StreamableHTTPClientTransport, UnauthorizedError, finish })
