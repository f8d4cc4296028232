"""Write whole splits of houses, resumable: a house that is complete on disk is kept."""

from __future__ import annotations

import json
from pathlib import Path

from tqdm import tqdm

from hm3dm3_env.scenes.layout import PARTS, write_dataset_config, write_scene
from hm3dm3_env.scenes.procedural.assets import Assets, AssetsConfig, open_assets
from hm3dm3_env.scenes.procedural.house import GENERATOR, build_house
from hm3dm3_env.workers import worker_pool

FIRST_SEED = {"train": 0, "val": 1_000_000, "mini": 2_000_000}
SPLIT_SIZE = 100_000
"""Seeds of one split; the ranges of the splits do not meet."""


def split_seed(split: str, index: int) -> int:
    """The seed of house `index` of a split.

    Raises:
        ValueError: an unknown split or an index outside of it.
    """
    if split not in FIRST_SEED:
        raise ValueError(f"unknown split {split!r}; one of {', '.join(FIRST_SEED)}")
    if not 0 <= index < SPLIT_SIZE:
        raise ValueError(f"index {index} is outside of split {split!r} (0..{SPLIT_SIZE - 1})")
    return FIRST_SEED[split] + index


def scene_id(split: str, index: int) -> str:
    """Scene ids are unique over the splits: p00012, pv00012, pm00012."""
    return {"train": "p", "val": "pv", "mini": "pm"}[split] + f"{index:05d}"


def finished(folder: Path, split: str, index: int, assets: Assets | None = None) -> Path | None:
    """The folder of a house with all its files, if it exists.

    Houses of another version of the generator, or made with other libraries, stay where they are, for
    episodes that were made in them.
    """
    wanted = (GENERATOR, assets.record() if assets else None)
    for path in sorted(folder.glob(f"{scene_id(split, index)}-*")):
        stem = path.name.split("-")[-1]
        about = path / f"{stem}.attributes.json"
        if all((path / f"{stem}.{part}").is_file() for part in PARTS):
            source = json.loads(about.read_bytes())["source"]
            if (source.get("generator"), source.get("assets")) == wanted:
                return path
    return None


def build_one(
    out: Path, split: str, index: int, plans: bool = False, assets: AssetsConfig | None = None
) -> Path:
    """Make one house under `<out>/<split>` unless it is there; returns its folder."""
    library = open_assets(assets) if assets else None
    folder = Path(out) / split
    name, picture = scene_id(split, index), folder / "plans" / f"{scene_id(split, index)}.png"
    done = finished(folder, split, index, library)
    if done is None or (plans and not picture.exists()):
        model, plan = build_house(split_seed(split, index), library)
        done = write_scene(model, folder, name)
        if plans:
            from hm3dm3_env.scenes.procedural.plans import draw_plan

            draw_plan(model, plan, picture, f"{name} (seed {split_seed(split, index)})")
    return done


def _job(
    out: Path, split: str, index: int, plans: bool, assets: AssetsConfig | None
) -> tuple[Path, list[str], list[str]]:
    """`build_one`, and what this process has found so far: faults of library models, and too large ones."""
    path = build_one(out, split, index, plans, assets)
    if assets is None:
        return path, [], []
    library = open_assets(assets)
    return path, list(library.faults), list(library.large)


def build_split(
    out: Path,
    split: str,
    count: int,
    workers: int = 1,
    plans: bool = False,
    progress: bool = False,
    assets: AssetsConfig | None = None,
) -> list[Path]:
    """Make houses 0..count-1 of a split; returns their folders in order.

    With `assets`, prints what the libraries give, and which models could not be used.

    Raises:
        ValueError: an unknown split, or a count or number of workers that is not positive.
        LibraryError: libraries that cannot be used.
    """
    split_seed(split, max(count - 1, 0))
    if count < 1 or workers < 1:
        raise ValueError(f"count and workers must be at least 1, not {count} and {workers}")
    if assets is not None:
        for line in open_assets(assets).report():
            print(line)
    out = Path(out)
    (out / split).mkdir(parents=True, exist_ok=True)
    write_dataset_config(out / split)
    bar = tqdm(total=count, desc=split, unit="house", disable=not progress)
    done: list[tuple[Path, list[str], list[str]]] = []
    with bar:
        if workers == 1:
            for index in range(count):
                done.append(_job(out, split, index, plans, assets))
                bar.update()
        else:
            with worker_pool(workers) as pool:
                for future in [
                    pool.submit(_job, out, split, index, plans, assets) for index in range(count)
                ]:
                    done.append(future.result())
                    bar.update()
    for line in sorted({line for _, lines, _ in done for line in lines}):
        print(f"assets: {line}")
    large = sorted({line for _, _, lines in done for line in lines})
    if large and assets is not None:
        print(
            f"assets: {len(large)} models not used, they have more than {assets.triangles} triangles "
            f"(assets_triangles= lets them in): {large[0]}{' and others' if len(large) > 1 else ''}"
        )
    return [path for path, _, _ in done]
