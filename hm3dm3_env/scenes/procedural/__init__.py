"""Procedural single-floor houses, written in HM3DSem's layout: floor plans, furniture, textures, a CLI."""

from __future__ import annotations

from hm3dm3_env.scenes.procedural.assets import AssetsConfig
from hm3dm3_env.scenes.procedural.build import build_split, split_seed
from hm3dm3_env.scenes.procedural.house import generate_house

__all__ = ["AssetsConfig", "build_split", "generate_house", "split_seed"]
