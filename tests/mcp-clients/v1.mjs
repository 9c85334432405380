// The official TypeScript SDK, version 1: node v1.mjs <URL> <API key>
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { walk } from './walk.mjs'

const [url, key] = process.argv.slice(2)
const client = new Client({ name: 'v1', version: '1' })
const requestInit = { headers: { authorization: `Bearer ${key}` } }
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
const done = await walk({
  listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
  call: (name, input, onprogress) => client.callTool({ name, arguments: input }, undefined, { onprogress }),
})
console.log(JSON.stringify(done))
await client.close()
