"""sdk.py MODE -- COMMAND ARG...: what a client on the official Python SDK (1.x or 2.x, whichever is installed) does with the conformance profile: list,
call, a tool's error, an unknown tool, data, a question, progress, cancellation, a time-out, many calls at once, the end. MODE is legacy, auto or a
revision; 1.x knows legacy alone. Ends with a traceback where something does not hold."""
import os
import sys
import time
from datetime import timedelta

import anyio
import mcp
from mcp.client.stdio import StdioServerParameters

OLD = not hasattr(mcp, 'Client')
if OLD:
    from mcp import ClientSession, types
    from mcp.client.stdio import stdio_client
    from mcp.shared.exceptions import McpError as Failure
else:
    import mcp_types as types
    from mcp.shared.exceptions import MCPError as Failure


def ok(what):
    print('ok', what, flush=True)


def text(result):
    return ''.join(block.text for block in result.content if block.type == 'text')


def field(thing, name):
    """A member by its name on the wire; 2.x has another in Python."""
    snake = ''.join('_' + c.lower() if c.isupper() else c for c in name)
    return getattr(thing, snake if hasattr(thing, snake) else name)


def seconds(n):
    return timedelta(seconds=n) if OLD else n


forms = []


async def on_form(context, params):
    forms.append(params.message)
    return types.ElicitResult(action='accept', content={'name': 'Ann'})


def code_of(failure):
    return failure.error.code if hasattr(failure, 'error') else failure.code


async def fails(code, work):
    try:
        await work
    except Failure as failure:
        assert code is None or code_of(failure) == code, failure
        return failure
    raise AssertionError('it did not fail')


async def talk(client):
    tools = (await client.list_tools()).tools
    assert len(tools) > 15 and all(field(tool, 'outputSchema') for tool in tools)
    ok('list')

    result = await client.call_tool('test_simple_text', {})
    assert not field(result, 'isError') and field(result, 'structuredContent')['state'] == 'completed'
    assert 'This is a simple text response for testing.' in text(result)
    ok('call')

    result = await client.call_tool('test_error_handling', {})
    assert field(result, 'isError') and 'intentionally returns an error' in text(result)
    await fails(-32602, client.call_tool('no_such_tool', {}))
    ok('error')

    result = await client.call_tool('print_json', {})
    assert field(result, 'structuredContent')['output'] == {'test': 'data', 'value': 123}
    ok('data')

    result = await client.call_tool('test_input_required_result_elicitation', {})
    assert 'Hello, Ann!' in text(result) and forms == ['What is your name?'], (text(result), forms)
    ok('a question')

    heard = []

    async def on_progress(progress, total, message):
        heard.append((progress, message))

    await client.call_tool('test_tool_with_progress', {}, progress_callback=on_progress)
    assert len(heard) >= 3 and all(a[0] < b[0] for a, b in zip(heard, heard[1:])), heard
    ok('progress')

    heard.clear()
    async with anyio.create_task_group() as group:
        before = getattr(client, '_request_id', None)

        async def wait():
            try:
                await client.call_tool('wait', {}, progress_callback=on_progress)
            except Failure:
                pass

        group.start_soon(wait)
        with anyio.fail_after(20):
            while not any('step 1' in (message or '') for _, message in heard):
                await anyio.sleep(0.02)
        if OLD:  # 1.x forgets to tell the server, so this is what its users write
            await client.send_notification(types.ClientNotification(types.CancelledNotification(
                method='notifications/cancelled', params=types.CancelledNotificationParams(requestId=before, reason='enough'))))
        group.cancel_scope.cancel()
    ok('cancel')

    await fails(None, client.call_tool('wait', {}, read_timeout_seconds=seconds(1.5)))
    result = await client.call_tool('test_simple_text', {})
    assert field(result, 'structuredContent')['state'] == 'completed'
    ok('timeout')

    calls = []

    async def one():
        calls.append(field(await client.call_tool('test_simple_text', {}), 'structuredContent')['call'])

    async with anyio.create_task_group() as group:
        for _ in range(16):
            group.start_soon(one)
    assert len(set(calls)) == 16
    ok('many at once')


async def main():
    mode, dashes, command, *args = sys.argv[1:]
    assert dashes == '--'
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    if OLD:
        async with stdio_client(server) as (read, write):
            async with ClientSession(read, write, elicitation_callback=on_form) as session:
                started = await session.initialize()
                ok('connect ' + started.protocolVersion)
                await talk(session)
                begun = time.monotonic()
    else:
        async with mcp.Client(server, mode=mode, elicitation_callback=on_form) as client:
            assert (client.protocol_version == '2026-07-28') == (mode != 'legacy'), client.protocol_version
            ok('connect ' + client.protocol_version)
            await talk(client)
            begun = time.monotonic()
    assert time.monotonic() - begun < 1.9  # at 2 s the SDK sends a signal
    ok('close')


anyio.run(main)
