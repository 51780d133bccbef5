"""server.py PROGRAM COUNT: a server of one tool on the official Python SDK, which starts PROGRAM so many times, one after the other."""
import asyncio
import sys

from mcp.server import MCPServer

program, count = sys.argv[1], int(sys.argv[2])
server = MCPServer('bench')


@server.tool()
async def run() -> str:
    for _ in range(count):
        await (await asyncio.create_subprocess_exec(program, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL)).wait()
    return 'done'


server.run('stdio')
