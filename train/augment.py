"""The eight symmetries of the square, applied to samples: a house that is mirrored or turned is a house."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from higa.network import Batch

SYMMETRIES = 8
"""Bit 0: x is mirrored; bit 1: z is mirrored; bit 2: then x and z are swapped."""


def transformed(batch: Batch, codes: np.ndarray) -> Batch:
    """Each sample under its symmetry.

    Rows of grids lie along z and columns along x; a robot at heading h looks along (-sin h, -cos h) in x and
    z, so that its sine and cosine change as its x and z do. Distances, and so pair features and costs, stay.

    Args:
        codes: (B,) integers below SYMMETRIES; 0 changes nothing.
    """
    grid, heat, agents = batch.grid, batch.heat, batch.agents.clone()
    bits = [torch.from_numpy((codes >> bit & 1).astype(bool)) for bit in range(3)]
    for mirrored, axis, column in ((bits[0], 3, 0), (bits[1], 2, 1)):
        chosen = mirrored[:, None, None, None]
        grid = torch.where(chosen, grid.flip(axis), grid)
        heat = torch.where(chosen, heat.flip(axis), heat)
        sign = 1.0 - 2.0 * mirrored.to(agents.dtype)[:, None]
        agents[..., column] *= sign
        agents[..., column + 2] *= sign
    chosen = bits[2][:, None, None, None]
    grid = torch.where(chosen, grid.transpose(2, 3), grid)
    heat = torch.where(chosen, heat.transpose(2, 3), heat)
    swapped = agents[..., [1, 0, 3, 2, *range(4, agents.shape[-1])]]
    return replace(batch, grid=grid, heat=heat, agents=torch.where(bits[2][:, None, None], swapped, agents))
