"""A bounded cache of answers that are asked for elsewhere: one question at a time for each key, each answer
for its own time. Made for token and access reviews; knows nothing of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Answer(Generic[Value]):
    """An answer, and for how many seconds it holds; zero or less: it is not kept."""

    value: Value
    ttl: float


@dataclass(frozen=True, slots=True)
class _Shared(Generic[Value]):
    """How a question ended, for those who waited: with one value, an error, or its asker gone."""

    values: tuple[Value, ...] = ()
    error: Exception | None = None
    abandoned: bool = False


class Lookup(Generic[Key, Value]):
    """Least recently used answers go first when there are more than `capacity`."""

    def __init__(self, *, capacity: int, now: Callable[[], float]) -> None:
        """`now` is a monotonic clock in seconds."""
        self._capacity = capacity
        self._now = now
        self._kept: OrderedDict[Key, tuple[float, Value]] = OrderedDict()
        self._asking: dict[Key, asyncio.Future[_Shared[Value]]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, key: Key, ask: Callable[[], Awaitable[Answer[Value]]]) -> Value:
        """The kept answer, or a fresh one. Whatever `ask` raises is raised, and not kept.

        The first caller asks, in its own task; others with the same key wait for it. They share its answer
        even when it is not to be kept, and its error; if it is cancelled, one of them asks in its stead.
        """
        while True:
            kept = self._kept.get(key)
            if kept is not None and self._now() < kept[0]:
                self._kept.move_to_end(key)
                return kept[1]
            asking = self._asking.get(key)
            if asking is None:
                return await self._ask(key, ask)
            shared = await asyncio.shield(asking)
            if shared.error is not None:
                raise shared.error
            if not shared.abandoned:
                return shared.values[0]

    async def _ask(self, key: Key, ask: Callable[[], Awaitable[Answer[Value]]]) -> Value:
        future: asyncio.Future[_Shared[Value]] = asyncio.get_running_loop().create_future()
        self._asking[key] = future
        shared: _Shared[Value] = _Shared(abandoned=True)
        try:
            answer = await ask()
            shared = _Shared(values=(answer.value,))
            self._keep(key, answer)
            return answer.value
        except Exception as error:
            shared = _Shared(error=error)
            raise
        finally:
            del self._asking[key]
            future.set_result(shared)

    def _keep(self, key: Key, answer: Answer[Value]) -> None:
        if answer.ttl <= 0:
            return
        self._kept[key] = (self._now() + answer.ttl, answer.value)
        self._kept.move_to_end(key)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
