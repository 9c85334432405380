// Starts or connects every server of a client's configuration, with the official TypeScript SDK: standard input is the
// configuration, standard output, for each server, its tools.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const chunks = []
for await (const chunk of process.stdin) chunks.push(chunk)
// As clients do: ${NAME} is an environment variable.
const text = Buffer.concat(chunks).toString().replaceAll(/\$\{(\w+)\}/g, (_, name) => process.env[name])
const found = {}
for (const [name, { type, url, headers, command, args }] of Object.entries(JSON.parse(text).mcpServers)) {
  const transport =
    type === 'http'
      ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
      : new StdioClientTransport({ command, args, env: process.env })
  const client = new Client({ name: 'config', version: '1' })
  await client.connect(transport)
  found[name] = (await client.listTools()).tools.map((tool) => tool.name)
  await client.close()
}
console.log(JSON.stringify(found))
