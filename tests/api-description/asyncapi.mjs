// Parses an AsyncAPI description with the reference parser, and prints what it objects to.
import { readFile } from 'node:fs/promises';
import { Parser } from '@asyncapi/parser';

const { document, diagnostics } = await new Parser().parse(await readFile(process.argv[2], 'utf8'));
// That a newer version of AsyncAPI exists is no objection: the interface names 3.0.
const objections = diagnostics.filter(({ code }) => code !== 'asyncapi-latest-version');
const lines = objections.map(({ code, message, path }) => `${code} at /${path.join('/')}: ${message}`);
const messages = document?.allMessages().all().map((message) => message.name()) ?? [];
console.log(JSON.stringify({ version: document?.version(), channels: document?.allChannels().all().length, messages, objections: lines }));
process.exitCode = document && lines.length === 0 ? 0 : 1;
