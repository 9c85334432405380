// Reads diagrams with Mermaid itself: standard input is an array of texts, standard output an array of what each is:
// {"type", "labels": {node: text}} or {"error"}.
import { JSDOM } from 'jsdom'

const { window } = new JSDOM('<!doctype html><body></body>')
Object.assign(globalThis, { window, document: window.document })
const { default: mermaid } = await import('mermaid')
mermaid.initialize({ startOnLoad: false })

const chunks = []
for await (const chunk of process.stdin) chunks.push(chunk)
const read = []
for (const text of JSON.parse(Buffer.concat(chunks).toString())) {
  try {
    const { diagramType: type } = await mermaid.parse(text)
    const { db } = await mermaid.mermaidAPI.getDiagramFromText(text)
    read.push({ type, labels: Object.fromEntries([...db.getVertices()].map(([id, { text }]) => [id, shown(text)])) })
  } catch (error) {
    read.push({ error: error.message })
  }
}
console.log(JSON.stringify(read))

/** A label as it is shown: Mermaid keeps the numbers of characters in a form of its own until it draws. */
function shown(text) {
  const decoded = text.replaceAll('ﬂ°°', '&#').replaceAll('ﬂ°', '&').replaceAll('¶ß', ';')
  const element = document.createElement('textarea')
  element.innerHTML = decoded
  return element.value
}
