"""How alike two category names are: a table of MiniLM sentence-embedding cosines that ships with the package.

`python -m policies.make_text_similarity` made it. Names that it lacks are compared by their words.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

import numpy as np

TABLE = Path(__file__).parent / "recognition" / "text_similarity.npz"


@cache
def similarity_table() -> tuple[dict[str, int], np.ndarray]:
    """The row of each of N names, and the (N, N) uint8 similarities in steps of 1/255."""
    with np.load(TABLE) as data:
        return {str(name): i for i, name in enumerate(data["names"])}, data["similarity"]


class TextSimilarity:
    """Similarity of names in 0..1; 1 for equal names."""

    def __call__(self, a: str, b: str) -> float:
        return _similarity(*sorted((a, b)))


@lru_cache(maxsize=65536)
def _similarity(a: str, b: str) -> float:
    if a == b:
        return 1.0
    index, table = similarity_table()
    i, j = index.get(a), index.get(b)
    if i is None or j is None:
        words_a, words_b = set(a.split()), set(b.split())
        return len(words_a & words_b) / len(words_a | words_b)
    return float(table[i, j]) / 255.0
