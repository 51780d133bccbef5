// server.mjs PROGRAM COUNT: a server of one tool on the official TypeScript SDK, which starts PROGRAM so many times, one after the other.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const packages = process.env.SBX_CONFORMANCE_DIR + '/node_modules/@modelcontextprotocol/server/dist/';
const { McpServer } = await import(packages + 'index.mjs');
const { StdioServerTransport } = await import(packages + 'stdio.mjs');
const [program, count] = process.argv.slice(2);
const run = promisify(execFile);
const server = new McpServer({ name: 'bench', version: '1' });
server.registerTool('run', { description: 'Run programs.' }, async () => {
  for (let i = 0; i < Number(count); i++) await run(program);
  return { content: [{ type: 'text', text: 'done' }] };
});
await server.connect(new StdioServerTransport());
