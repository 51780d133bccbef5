// sdk.mjs v1|v2 legacy|auto|pin -- COMMAND ARG...: what a client on the official TypeScript SDKs does with the conformance profile: list, call, a tool's
// error, an unknown tool, data, a picture, a question, progress, cancellation, a time-out, many calls at once, the end. Prints what holds, and ends with
// status 1 where something does not. The SDKs are below $SBX_CONFORMANCE_DIR.
import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';

const [sdk, mode, dashes, command, ...args] = process.argv.slice(2);
assert.equal(dashes, '--');
const packages = process.env.SBX_CONFORMANCE_DIR + '/node_modules/@modelcontextprotocol/';
const v1 = sdk === 'v1';
const { Client } = await import(packages + (v1 ? 'sdk/dist/esm/client/index.js' : 'client/dist/index.mjs'));
const { StdioClientTransport } = await import(packages + (v1 ? 'sdk/dist/esm/client/stdio.js' : 'client/dist/stdio.mjs'));

const options = { capabilities: { elicitation: {} } };
if (!v1 && mode !== 'legacy') options.versionNegotiation = { mode: mode === 'pin' ? { pin: '2026-07-28' } : 'auto', probe: { timeoutMs: 10000 } };
const client = new Client({ name: 'sdk.mjs', version: '1' }, options);
const errors = [];
client.onerror = error => errors.push(String(error?.message ?? error));
const forms = [];
const answer = async request => { forms.push(request.params); return { action: 'accept', content: { name: 'Ann' } }; };
if (v1) {
  const { ElicitRequestSchema } = await import(packages + 'sdk/dist/esm/types.js');
  client.setRequestHandler(ElicitRequestSchema, answer);
} else {
  client.setRequestHandler('elicitation/create', answer);
}
const call = (name, more = {}) => (v1 ? client.callTool({ name, arguments: {} }, undefined, more) : client.callTool({ name, arguments: {} }, more));
const text = result => result.content.filter(block => block.type === 'text').map(block => block.text).join('');
const until = async (what, holds) => {
  for (const end = performance.now() + 20000; !holds();) {
    assert(performance.now() < end, what);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
};
const ok = what => console.log('ok ' + what);

await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore', env: { ...process.env } }));
const version = client.getNegotiatedProtocolVersion?.();
if (!v1) assert.equal(version, mode === 'legacy' ? '2025-11-25' : '2026-07-28');
ok('connect ' + (version ?? ''));

const { tools } = await client.listTools();
assert(tools.length > 15 && tools.every(tool => tool.outputSchema && tool.inputSchema.type === 'object'));
assert(tools.some(tool => tool.name === 'sbx_result'));
ok('list');

let result = await call('test_simple_text');
assert(!result.isError && result.structuredContent.state === 'completed');
assert(text(result).includes('This is a simple text response for testing.'));
ok('call');

result = await call('test_error_handling');
assert(result.isError && text(result).includes('intentionally returns an error'));
result = await call('sbx_result');
assert(result.isError && text(result).includes('32 hex digits'));
await assert.rejects(call('no_such_tool'), error => error.code === -32602);
ok('error');

result = await call('print_json');
assert.deepEqual(result.structuredContent.output, { test: 'data', value: 123 });
result = await call('test_image_content');
assert(result.content.some(block => block.type === 'image' && block.mimeType === 'image/png'));
ok('data and a picture');

result = await call('test_input_required_result_elicitation');
assert(text(result).includes('Hello, Ann!') && forms.length === 1 && forms[0].message === 'What is your name?');
ok('a question');

let heard = [];
result = await call('test_tool_with_progress', { onprogress: progress => heard.push(progress) });
assert(!result.isError && heard.length >= 3);
assert(heard.every((progress, i) => i === 0 || progress.progress > heard[i - 1].progress));
ok('progress');

heard = [];
const stop = new AbortController();
let waiting = call('wait', { signal: stop.signal, onprogress: progress => heard.push(progress) });
waiting.catch(() => {});
await until('no step', () => heard.some(progress => progress.message?.includes('step 1')));
stop.abort('enough');
await assert.rejects(waiting);
ok('cancel');

await assert.rejects(call('wait', { timeout: 1500 }), error => /time.?out|timed out/i.test(String(error.message)));
assert((await call('test_simple_text')).structuredContent.state === 'completed');
ok('timeout');

const many = await Promise.all(Array.from({ length: 24 }, () => call('test_simple_text')));
assert(many.every(each => !each.isError) && new Set(many.map(each => each.structuredContent.call)).size === 24);
ok('many at once');

const begun = performance.now();
await client.close();
assert(performance.now() - begun < 1900); // at 2 s the SDK sends a signal
assert.deepEqual(errors, []);
ok('close');
