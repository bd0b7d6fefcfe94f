"""Event streams: delivery from other threads, heartbeats, and how streams end."""

import asyncio
import threading

import pytest
from limits import PATIENCE, run_async

from reread.server import event_bus
from reread.server.event_bus import EventBus, Listener


def test_events_of_other_threads_arrive_in_order_until_the_listener_is_closed() -> None:
    async def main() -> list[bytes]:
        bus, listener = EventBus[None](), Listener(None)
        bus.listeners.add(listener)

        def publish() -> None:
            bus.publish("first", {"n": 1})
            bus.publish("second", [2])
            listener.close()

        threading.Thread(target=publish).start()
        return [event async for event in bus.stream(listener)]

    assert run_async(main()) == [b'event: first\ndata: {"n":1}\n\n', b"event: second\ndata: [2]\n\n"]


def test_a_silent_stream_sends_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_bus, "HEARTBEAT_SECONDS", 0.01)

    async def main() -> bytes:
        return await anext(EventBus[None]().stream(Listener(None)))

    assert run_async(main()) == b": heartbeat\n\n"


def test_events_go_on_after_a_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> list[bytes]:
        bus, listener = EventBus[None](), Listener(None)
        stream = bus.stream(listener)
        monkeypatch.setattr(event_bus, "HEARTBEAT_SECONDS", 60.0)
        bus.listeners.add(listener)
        bus.publish("one", 1)
        found = [await anext(stream)]
        monkeypatch.setattr(event_bus, "HEARTBEAT_SECONDS", 0.001)
        found.append(await anext(stream))
        monkeypatch.setattr(event_bus, "HEARTBEAT_SECONDS", 60.0)
        assert bus.listeners == {listener}
        bus.publish("two", 2)
        found.append(await anext(stream))
        bus.close()
        return [*found, *[event async for event in stream]]

    events = [b"event: one\ndata: 1\n\n", b": heartbeat\n\n", b"event: two\ndata: 2\n\n"]
    assert run_async(main()) == events


def test_a_stream_listens_while_it_is_read_and_ends_with_its_bus() -> None:
    async def main() -> None:
        bus, listener, waiting = EventBus[None](), Listener(None), Listener(None)
        bus.listeners.add(waiting)
        streams = [asyncio.ensure_future(anext(bus.stream(one), None)) for one in (listener, waiting)]
        while listener not in bus.listeners:
            await asyncio.sleep(0)
        bus.close()
        assert await asyncio.wait_for(asyncio.gather(*streams), PATIENCE) == [None, None]
        assert bus.listeners == set()

    run_async(main())


def test_a_listener_hears_another_bus_during_a_block_which_keeps_its_stream() -> None:
    emptied: list[int] = []

    async def main() -> list[bytes]:
        own, other, listener = EventBus[None](), EventBus[None](lambda: emptied.append(1)), Listener(None)
        with other.heard_by(listener):
            assert other.listeners == {listener}
            other.publish("now", {})
        assert other.listeners == set() and not emptied
        other.publish("later", {})
        listener.close()
        return [event async for event in own.stream(listener)]

    assert run_async(main()) == [b"event: now\ndata: {}\n\n"]


def test_the_last_listener_that_leaves_empties_the_bus() -> None:
    emptied: list[int] = []

    async def main() -> None:
        bus = EventBus[None](lambda: emptied.append(1))
        listeners = [Listener(None), Listener(None)]
        bus.listeners.update(listeners)
        for count, listener in enumerate(listeners):
            listener.close()
            assert [event async for event in bus.stream(listener)] == []
            assert len(emptied) == count
        assert bus.listeners == set()

    run_async(main())


def test_a_closed_bus_has_no_new_streams() -> None:
    async def main() -> list[bytes]:
        bus = EventBus[None]()
        bus.close()
        return [event async for event in bus.stream(Listener(None))]

    assert run_async(main()) == []


def test_an_event_after_the_end_of_the_loop_is_dropped() -> None:
    async def main() -> Listener[None]:
        return Listener(None)

    listener = run_async(main())
    listener.send("late", {})
    listener.close()
