// Polls with a client that openapi-fetch makes of the types that openapi-typescript has generated.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

declare const process: { argv: string[] };

type Vote = components['schemas']['PublicVote'];

// An error in one of its two forms.
const said = (error?: components['schemas']['ErrorBody'] | components['schemas']['Problem']) =>
    error && ('error' in error ? error.error : error.detail);

const [baseUrl, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

const started = await client.POST('/api/polls', {
    body: { question: 'Which of the two is the better one?', options: ['Alpha', 'Beta'], preset: 'budget' },
});
if (!started.data) throw new Error(said(started.error));
const result = await client.GET('/api/results/{resultId}', {
    params: { path: { resultId: started.data.poll_id }, query: { wait_ms: 60000 } },
});
if (!result.data) throw new Error(said(result.error));
const votes: Vote[] = result.data.votes;

const priced = await client.POST('/api/poll/dry-run', {
    body: { question: 'Which of the two is the better one?', preset: 'none' },
});
if (!priced.data) throw new Error(said(priced.error));
const unknown = await client.GET('/api/results/{resultId}', { params: { path: { resultId: 'EP-20260101-0000000000' } } });

console.log(JSON.stringify({
    outcome: result.data.outcome,
    votes: votes.length,
    valid: priced.data.valid,
    refused: said(unknown.error),
}));
