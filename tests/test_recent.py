"""A memory of what was used last."""

from __future__ import annotations

from policies.recent import Recent


def test_what_was_used_longest_ago_is_forgotten() -> None:
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key.upper()

    memory: Recent[str] = Recent(2)
    for key in ("a", "b", "a", "c", "a", "b"):
        assert memory.of(key, lambda key=key: make(key)) == key.upper()  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]
