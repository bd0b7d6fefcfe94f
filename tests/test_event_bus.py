"""Event streams: delivery from other threads, heartbeats, and how streams end."""

import threading

import pytest
from limits import run_async

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

    assert run_async(main()).startswith(b":")


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
