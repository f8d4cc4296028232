"""Vectors of category names, for the simulated encoder: what a text tower would make of a goal.

They come from the table of MiniLM cosines (`policies.text_similarity`): the table is a Gram matrix, so its
largest eigenvectors, each times the root of its eigenvalue, are the vectors of `SIZE` numbers whose products
come nearest to it. Over all pairs of names, their cosines correlate with the table at 0.86 (measured).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.linalg import eigh

from policies.text_similarity import TextSimilarity, similarity_table

SIZE = 32
"""Length of a vector (ours)."""


@cache
def _vectors() -> np.ndarray:
    """(N, SIZE) unit vectors of the table's names.

    The sign of an eigenvector is arbitrary: its largest entry is made positive. Entries are rounded to four
    digits first, so that the last bits of linear algebra, which depend on the number of threads, vanish.
    """
    gram = similarity_table()[1] / 255.0
    values, vectors = eigh(gram, subset_by_index=[len(gram) - SIZE, len(gram) - 1])
    vectors = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    top = np.abs(vectors).argmax(0)
    vectors = np.round(vectors * np.sign(vectors[top, np.arange(SIZE)]), 4)
    return vectors / np.sqrt((vectors**2).sum(1, keepdims=True))


def name_vector(name: str) -> np.ndarray:
    """(SIZE,) unit vector of a name. One that the table lacks gets the mean of the table's vectors, weighted
    by how many words the names share; zeros when no name shares any."""
    index, _ = similarity_table()
    if name in index:
        return _vectors()[index[name]]
    similarity = TextSimilarity()
    weights = np.array([similarity(name, other) for other in index])
    return unit((weights[:, None] * _vectors()).sum(0))


def unit(vector: np.ndarray) -> np.ndarray:
    """(..., D) vectors of length 1; zeros stay zeros."""
    length = np.sqrt((vector**2).sum(-1, keepdims=True))
    return vector / np.where(length > 0, length, 1.0)
