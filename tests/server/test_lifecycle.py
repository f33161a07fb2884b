"""The server's life on a real socket: it listens, drains and ends in order."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap

import httpx
import pytest

from apiserver.server.lifecycle import Lifecycle, Timings, bind, serve

QUICK = Timings(shutdown_delay=0, drain=5, watch_grace=5)


class Application:
    """Answers at once, when let (`/slow`), when told to end (`/watch`) or never quite (`/broken`)."""

    def __init__(self, lifecycle):
        self.lifecycle = lifecycle
        self.entered = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self, scope, receive, send):
        watch = scope["path"] == "/watch"
        self.lifecycle.enter(watch=watch)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"begun ", "more_body": True})
            if scope["path"] == "/broken":
                return
            if scope["path"] != "/":
                self.entered.set()
                await (self.lifecycle.ending_watches if watch else self.open).wait()
            await send({"type": "http.response.body", "body": b"done"})
        finally:
            self.lifecycle.leave(watch=watch)


@pytest.fixture
async def server():
    """(application, lifecycle, URL, the task that serves)."""
    lifecycle = Lifecycle()
    application = Application(lifecycle)
    sock = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(serve(application, [sock], lifecycle, timings=QUICK))
        await lifecycle.serving.wait()
        async with httpx.AsyncClient(base_url=url, timeout=10) as client:
            yield application, lifecycle, client, serving
        lifecycle.stop()


async def test_it_answers_once_it_says_that_it_listens(server):
    _, _, client, _ = server
    assert (await client.get("/")).text == "begun done"


async def test_requests_under_way_are_finished_and_new_connections_refused(server):
    application, lifecycle, client, serving = server
    slow = asyncio.create_task(client.get("/slow"))
    await application.entered.wait()
    lifecycle.stop()
    await lifecycle.refusing.wait()
    assert not serving.done()
    application.open.set()
    assert (await slow).text == "begun done"
    await serving
    with pytest.raises(httpx.ConnectError):
        await client.get("/")


async def test_new_requests_are_served_during_the_shutdown_delay():
    lifecycle, over = Lifecycle(), asyncio.Event()
    slept = []

    async def sleep(seconds):
        slept.append(seconds)
        await over.wait()

    sock = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    timings = Timings(shutdown_delay=70, drain=5, watch_grace=5)
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        tasks.create_task(serve(Application(lifecycle), [sock], lifecycle, timings=timings, sleep=sleep))
        await lifecycle.serving.wait()
        lifecycle.stop()
        async with httpx.AsyncClient(base_url=url) as client:
            assert (await client.get("/")).text == "begun done"
        assert not lifecycle.refusing.is_set()
        over.set()
    assert slept == [70]
    assert lifecycle.ending_watches.is_set()


async def test_watches_end_cleanly_after_the_requests(server):
    application, lifecycle, client, serving = server
    watching = asyncio.create_task(client.get("/watch"))
    await application.entered.wait()
    application.entered.clear()
    slow = asyncio.create_task(client.get("/slow"))
    await application.entered.wait()
    lifecycle.stop()
    await lifecycle.refusing.wait()
    assert not lifecycle.ending_watches.is_set()
    application.open.set()
    await slow
    assert (await watching).text == "begun done"
    await serving


async def test_an_answer_that_breaks_off_is_noticed_by_the_client(server):
    _, _, client, _ = server
    with pytest.raises(httpx.RemoteProtocolError):
        await client.get("/broken")
    assert (await client.get("/")).text == "begun done"


async def test_a_connection_is_kept_for_the_next_request(server):
    _, _, client, _ = server
    first = await client.get("/")
    second = await client.get("/")
    streams = {
        response.extensions["network_stream"].get_extra_info("client_addr") for response in (first, second)
    }
    assert len(streams) == 1


async def test_a_port_that_is_taken_is_an_error():
    taken = bind("127.0.0.1", 0)
    taken.listen()
    with pytest.raises(OSError, match="in use"):
        bind("127.0.0.1", taken.getsockname()[1])
    taken.close()


async def test_an_unspecified_ipv6_address_takes_ipv4_too():
    sock = bind("::", 0)
    sock.listen()
    _, writer = await asyncio.open_connection("127.0.0.1", sock.getsockname()[1])
    writer.close()
    await writer.wait_closed()
    sock.close()


SCRIPT = textwrap.dedent(
    """
    import asyncio, sys
    from apiserver.observability.logging import configure_logging
    from apiserver.server.lifecycle import Lifecycle

    configure_logging()

    async def main():
        lifecycle = Lifecycle()
        with lifecycle.signals():
            print("ready", flush=True)
            await lifecycle.stopping.wait()
            print("stopping", flush=True)
            await asyncio.sleep(float(sys.argv[1]))
        print("ended", flush=True)

    asyncio.run(main())
    """
)


def start(linger):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, linger], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_signal_begins_the_orderly_end():
    with start("0") as process:
        os.kill(process.pid, signal.SIGTERM)
        assert process.stdout.read() == "stopping\nended\n"
        assert process.wait(10) == 0


def test_a_second_signal_ends_the_process_at_once():
    with start("60") as process:
        os.kill(process.pid, signal.SIGTERM)
        assert process.stdout.readline() == "stopping\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(10) == 1
