// The page of a host: it embeds the app in a sandboxed frame and answers it through the official bridge.
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge'

const seen = { initialized: 0, sizes: [], links: [], calls: [], errors: [], app: null }
let bridge

window.host = {
  seen,

  /** Loads the app; resolves when it has said that it is ready. */
  async start({ width, capabilities, hostContext }) {
    const frame = document.createElement('iframe')
    frame.setAttribute('sandbox', 'allow-scripts')
    frame.style.cssText = `width: ${width}px; height: 40px; border: 0; display: block; color-scheme: normal`
    document.body.append(frame)
    bridge = new AppBridge(null, { name: 'test-host', version: '1.0.0' }, capabilities, { hostContext })
    bridge.oncalltool = async (params) => {
      seen.calls.push({ ...params, at: performance.now() })
      return window.callTool(params)
    }
    bridge.onopenlink = async ({ url }) => {
      seen.links.push(url)
      return {}
    }
    bridge.onsizechange = (size) => {
      seen.sizes.push(size)
      frame.style.height = `${size.height}px`
    }
    bridge.onerror = (error) => seen.errors.push(`bridge: ${error.message}`)
    const initialized = new Promise((resolve) => {
      bridge.oninitialized = () => {
        seen.initialized += 1
        seen.app = { info: bridge.getAppVersion(), capabilities: bridge.getAppCapabilities() }
        resolve()
      }
    })
    await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow))
    frame.src = '/app.html'
    await initialized
  },

  input: (params) => bridge.sendToolInput(params),
  result: (params) => bridge.sendToolResult(params),
  cancelled: (params) => bridge.sendToolCancelled(params),
  context: (params) => bridge.sendHostContextChange(params),
  teardown: () => bridge.teardownResource({}, { timeout: 2_000 }),
  resize(width) {
    document.querySelector('iframe').style.width = `${width}px`
  },

  /** Posts what no bridge would send. */
  raw(message) {
    window.frames[0].postMessage(message, '*')
  },

  /** Posts from a frame beside the app, which is not its parent. */
  async beside(message) {
    const other = document.createElement('iframe')
    other.setAttribute('sandbox', 'allow-scripts')
    other.hidden = true
    const script = `parent.frames[0].postMessage(${JSON.stringify(message)}, '*'); parent.postMessage('sent', '*')`
    other.srcdoc = `<script>${script.replaceAll('<', '\\u003c')}</script>`
    const sent = new Promise((resolve) => {
      window.addEventListener('message', function listen({ data }) {
        if (data !== 'sent') return
        window.removeEventListener('message', listen)
        resolve()
      })
    })
    document.body.append(other)
    await sent
    other.remove()
  },
}
