"""The outline of a floor's free area as straight edges: what is inside, and where a move meets it.

Coordinates are in cells (row, column): whole numbers are borders of cells.
"""

from __future__ import annotations

from functools import cached_property

import numba
import numpy as np
import shapely

_SPOT = (0.5 + 3.1e-4, 0.5 + 5.3e-4)
"""Where a cell is asked whether it is inside: next to its middle, where hardly any edge runs exactly."""
_CLEAR = 1e-3
"""Cells are free if their middle is inside and edges are this far from it, in cells (`_SPOT` is nearer)."""
_AROUND = np.stack([np.cos(np.arange(16) * np.pi / 8), np.sin(np.arange(16) * np.pi / 8)], 1)
"""Steps from an edge in search of the inside."""
_SLACK = 0.02
"""Detour's circle around a move is 1 mm wider than the move, in cells of 5 cm."""
_NEAR = 1e-6
"""Edges this near a cell count as in it too, in cells: moves along borders of cells then miss none."""


class Outline:
    """Closed lines around an area of a grid; a place is inside if a way out crosses an odd number of them.

    Args:
        edges: (E, 4) float64 row, column, row, column.
        shape: rows and columns of the grid; the edges lie within it.
    """

    def __init__(self, edges: np.ndarray, shape: tuple[int, int]) -> None:
        self.edges = np.ascontiguousarray(edges, np.float64).reshape(-1, 4)
        self._inside = _rastered(self.edges, shape[0], shape[1])
        self._first, self._mine = _by_cell(self.edges, shape[0], shape[1])
        self.free = _without_middles(self.edges, self._first, self._mine, self._inside)
        """(rows, columns) bool: whether the middle of each cell is inside."""

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What compiled code needs: the edges, where each cell's list of them begins, the lists, and (rows,
        columns) bool: whether the middle of each cell is inside."""
        return self.edges, self._first, self._mine, self._inside

    def contains(self, row: float, column: float) -> bool:
        """Whether a place is inside."""
        return bool(_contains(*self.tables, row, column))

    def contain(self, places: np.ndarray) -> np.ndarray:
        """(P,) bool: which of (P, 2) places are inside."""
        return _contain(*self.tables, places)

    def meets(self, row: float, column: float, d_row: float, d_column: float) -> tuple[float, int]:
        """The share (0..1) of a move from inside to the first edge, and that edge's index (1, -1: none)."""
        share, edge = meets(*self.tables, row, column, d_row, d_column)
        return float(share), int(edge)

    def stop(
        self, row: float, column: float, d_row: float, d_column: float, skin: float
    ) -> tuple[float, float]:
        """Where a move from inside ends: `skin` before the first edge, or at its end."""
        share, edge = self.meets(row, column, d_row, d_column)
        if edge >= 0:
            share = max(share - skin / float(np.hypot(d_row, d_column)), 0.0)
        there = row + share * d_row, column + share * d_column
        return there if self.contains(*there) else (row, column)  # not through the very corner of two edges

    def slide(self, row: float, column: float, d_row: float, d_column: float) -> tuple[float, float]:
        """Where a move ends that slides along edges, by Detour's rule: of all edges of what is connected to
        its start within the circle that has the move for a diameter, the place nearest to its end."""
        if self.meets(row, column, d_row, d_column)[1] < 0:
            return row + d_row, column + d_column
        reach = float(np.hypot(d_row, d_column)) / 2 + _SLACK
        circle = shapely.Point(row + d_row / 2, column + d_column / 2).buffer(reach)
        parts = shapely.get_parts(shapely.intersection(self.area, circle))
        parts = parts[shapely.area(parts) > 0]
        if not len(parts):
            return row, column
        mine = parts[shapely.distance(parts, shapely.Point(row, column)).argmin()]
        end = shapely.Point(row + d_row, column + d_column)
        if shapely.distance(mine, end) > 0:  # whole edges count, also beyond the circle
            lines = shapely.linestrings(self.edges.reshape(-1, 2, 2))
            touched = lines[shapely.distance(lines, mine) < _NEAR]
            if not len(touched):
                return row, column
            line = touched[shapely.distance(touched, end).argmin()]
            end = shapely.line_interpolate_point(line, shapely.line_locate_point(line, end))
        if not self.contains(end.x, end.y):  # it is on an edge
            return self.nearest(end.x, end.y) or (row, column)
        return end.x, end.y

    @cached_property
    def area(self) -> shapely.Geometry:
        """The inside as polygons."""
        lines = shapely.unary_union(shapely.linestrings(self.edges.reshape(-1, 2, 2)))
        faces = shapely.get_parts(shapely.polygonize([lines]))
        spots = shapely.get_coordinates(shapely.point_on_surface(faces)).reshape(-1, 2)
        return shapely.unary_union([face for face, mine in zip(faces, self.contain(spots)) if mine])

    def nearest(self, row: float, column: float) -> tuple[float, float] | None:
        """The place inside, just off an edge, that is nearest to one outside; None: nothing is inside."""
        if not len(self.edges) or not (np.isfinite(row) and np.isfinite(column)):
            return None
        start, along = self.edges[:, :2], self.edges[:, 2:] - self.edges[:, :2]
        share = (((row, column) - start) * along).sum(1) / np.maximum((along**2).sum(1), 1e-12)
        places = start + np.clip(share, 0, 1)[:, None] * along
        gaps = np.hypot(places[:, 0] - row, places[:, 1] - column)
        for edge in np.argsort(gaps, kind="stable")[:8]:
            across = along[edge][::-1] * (1, -1) / np.hypot(*along[edge])
            for ways in (np.stack([across, -across]), _AROUND):  # at corners neither side need be inside
                around = places[edge] + 10 * _CLEAR * ways
                inside = around[self.contain(around)]
                if len(inside):
                    near = inside[np.hypot(inside[:, 0] - row, inside[:, 1] - column).argmin()]
                    return float(near[0]), float(near[1])
        return None

    def with_cells(self, cells: np.ndarray) -> Outline:
        """The outline of this area and the given cells, (rows, columns) bool, together."""
        rows, columns = np.nonzero(cells)
        area = shapely.unary_union([self.area, *shapely.box(rows, columns, rows + 1, columns + 1)])
        edges = [np.zeros((0, 4))]
        for part in shapely.get_parts(area):
            for ring in [part.exterior, *part.interiors]:
                places = shapely.get_coordinates(ring)
                edges.append(np.hstack([places[:-1], places[1:]]))
        return Outline(np.concatenate(edges), self._inside.shape)


@numba.njit(cache=True, nogil=True)
def _rastered(edges, rows, columns):
    out = np.zeros((rows, columns), np.bool_)
    for e in range(len(edges)):
        r0, c0, r1, c1 = edges[e]
        if r0 > r1:
            r0, c0, r1, c1 = r1, c1, r0, c0
        for r in range(max(int(np.ceil(r0 - _SPOT[0])), 0), min(int(np.ceil(r1 - _SPOT[0])), rows)):
            crossing = c0 + (c1 - c0) * (r + _SPOT[0] - r0) / (r1 - r0)
            for c in range(max(int(np.ceil(crossing - _SPOT[1])), 0), columns):
                out[r, c] = not out[r, c]
    return out


@numba.njit(cache=True, nogil=True)
def _by_cell(edges, rows, columns):
    """Edges of each cell: (cells + 1,) where its part of the second list begins, and that list."""
    counts = np.zeros(rows * columns + 1, np.int64)
    mine = np.empty(0, np.int32)
    for turn in range(2):
        for e in range(len(edges)):
            r0, c0, r1, c1 = edges[e]
            if r0 > r1:
                r0, c0, r1, c1 = r1, c1, r0, c0
            for r in range(max(int(np.floor(r0 - _NEAR)), 0), min(int(np.floor(r1 + _NEAR)), rows - 1) + 1):
                if r1 - r0 > 1e-12:
                    a = c0 + (c1 - c0) * (min(max(r - _NEAR, r0), r1) - r0) / (r1 - r0)
                    b = c0 + (c1 - c0) * (min(max(r + 1 + _NEAR, r0), r1) - r0) / (r1 - r0)
                else:
                    a, b = c0, c1
                first, last = int(np.floor(min(a, b) - _NEAR)), int(np.floor(max(a, b) + _NEAR))
                for c in range(max(first, 0), min(last, columns - 1) + 1):
                    if turn == 0:
                        counts[r * columns + c + 1] += 1
                    else:
                        mine[counts[r * columns + c]] = e
                        counts[r * columns + c] += 1
        if turn == 0:
            counts = np.cumsum(counts)
            mine = np.empty(counts[-1], np.int32)
    counts[1:] = counts[:-1].copy()
    counts[0] = 0
    return counts, mine


@numba.njit(cache=True, nogil=True)
def _contains(edges, first, mine, inside, row, column):
    rows, columns = inside.shape
    r, c = int(np.floor(row)), int(np.floor(column))
    if r < 0 or c < 0 or r >= rows or c >= columns:
        return False
    found = inside[r, c]
    d_row, d_column = r + _SPOT[0] - row, c + _SPOT[1] - column
    for k in range(first[r * columns + c], first[r * columns + c + 1]):
        r0, c0, r1, c1 = edges[mine[k]]
        # which sides of the way to the cell's middle the edge's ends are on, and the other way round
        a = d_row * (c0 - column) - d_column * (r0 - row)
        b = d_row * (c1 - column) - d_column * (r1 - row)
        if (a > 0) == (b > 0):
            continue
        here = (r1 - r0) * (column - c0) - (c1 - c0) * (row - r0)
        there = (r1 - r0) * (column + d_column - c0) - (c1 - c0) * (row + d_row - r0)
        if (here > 0) != (there > 0):
            found = not found
    return found


@numba.njit(cache=True, nogil=True)
def _contain(edges, first, mine, inside, places):
    out = np.zeros(len(places), np.bool_)
    for i in range(len(places)):
        if abs(places[i, 0]) < 1e9 and abs(places[i, 1]) < 1e9:
            out[i] = _contains(edges, first, mine, inside, places[i, 0], places[i, 1])
    return out


@numba.njit(cache=True, nogil=True)
def meets(edges, first, mine, inside, row, column, d_row, d_column):
    """See `Outline.meets`; the first four are `Outline.tables`."""
    rows, columns = inside.shape
    r, c = int(np.floor(row)), int(np.floor(column))
    sr, sc = (1 if d_row > 0 else -1), (1 if d_column > 0 else -1)
    next_r = ((r + (sr > 0)) - row) / d_row if d_row != 0 else np.inf
    next_c = ((c + (sc > 0)) - column) / d_column if d_column != 0 else np.inf
    best, edge = 1.0, -1
    while 0 <= r < rows and 0 <= c < columns:
        for k in range(first[r * columns + c], first[r * columns + c + 1]):
            r0, c0, r1, c1 = edges[mine[k]]
            turn = d_row * (c1 - c0) - d_column * (r1 - r0)
            if turn == 0:
                continue
            share = ((r0 - row) * (c1 - c0) - (c0 - column) * (r1 - r0)) / turn
            place = ((r0 - row) * d_column - (c0 - column) * d_row) / turn
            if 0 <= share < best and 0 <= place <= 1:
                best, edge = share, mine[k]
        at = min(next_r, next_c)
        if best <= at or at >= 1:
            return best, edge
        if next_r <= next_c:
            r += sr
            next_r = ((r + (sr > 0)) - row) / d_row
        else:
            c += sc
            next_c = ((c + (sc > 0)) - column) / d_column
    return best, edge


@numba.njit(cache=True, nogil=True)
def _without_middles(edges, first, mine, inside):
    """The cells inside whose very middle no edge runs through."""
    out = inside.copy()
    rows, columns = inside.shape
    for r in range(rows):
        for c in range(columns):
            for k in range(first[r * columns + c], first[r * columns + c + 1]):
                r0, c0, r1, c1 = edges[mine[k]]
                gap = (r1 - r0) * (c + 0.5 - c0) - (c1 - c0) * (r + 0.5 - r0)
                if abs(gap) < _CLEAR * np.hypot(r1 - r0, c1 - c0):
                    out[r, c] = False
    return out
