"""A memory of what was used last: results that are worked out once and remembered, up to a number of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """Up to `size` values by key; the one that was used longest ago is forgotten first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, T] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of a key; `make` works it out when it is not remembered."""
        if key not in self._values:
            self._values[key] = make()
            if len(self._values) > self._size:
                self._values.popitem(last=False)
        self._values.move_to_end(key)
        return self._values[key]
