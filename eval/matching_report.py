"""The results of eval.matching as a table, a picture of the ROC curves, and pictures of matches."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageDraw

from hm3dm3_env.files import json_bytes, write_atomic
from hm3dm3_env.sim.base import Frame
from hm3dm3_env.workers import cpu_model

if TYPE_CHECKING:
    from eval.matching import MatchingEvalConfig
    from policies.recognition.matching.base import Matches
    from policies.recognition.matching.geometry import Verified

KINDS = ("same", "twin", "elsewhere")
"""What a frame shows: the photographed thing, another of its category, or neither."""
_SHOWN = 150
"""Matches in a picture."""


def auc(same: np.ndarray, other: np.ndarray) -> float:
    """Chance that a score of `same` (P,) exceeds one of `other` (N,); ties count half."""
    more = (same[:, None] > other[None]).mean() + (same[:, None] == other[None]).mean() / 2
    return float(more)


def limit(other: np.ndarray, rate: float) -> float:
    """The smallest of (N,) scores that at most a share `rate` of them exceeds."""
    falling = np.sort(other)[::-1]
    return float(falling[min(int(rate * len(falling)), len(falling) - 1)])


def report(config: MatchingEvalConfig, rows: Sequence[dict[str, Any]], made_by: str) -> dict[str, Any]:
    """Write summary.json, table.txt and roc.png, print the table, and return the summary.

    Raises:
        ValueError: no frames of the photographed things, or none of others.
    """
    kinds = {r["kind"] for r in rows}
    if "same" not in kinds:
        raise ValueError(
            f"split {config.split!r}: no frame shows a photographed thing; raise goals, lower visible, or "
            "give wider bands, with another out="
        )
    if kinds == {"same"}:
        raise ValueError(
            f"split {config.split!r}: no frames of other things; raise goals or elsewhere, with another out="
        )
    summary, curves = {}, {}
    for matcher in config.matchers:
        mine = [r for r in rows if r["matcher"] == matcher]
        for check in config.checks:
            name = f"{matcher}, {check}"
            summary[name], curves[name] = _row(config, mine, check)
    out = Path(config.out)
    write_atomic(out / "summary.json", json_bytes(summary, 1))
    write_atomic(out / "roc.png", _roc(curves, config.rate))
    text = _table(config, summary, made_by)
    write_atomic(out / "table.txt", text.encode())
    print(text)
    return summary


def _row(
    config: MatchingEvalConfig, rows: Sequence[dict[str, Any]], check: str
) -> tuple[dict[str, Any], tuple[np.ndarray, np.ndarray]]:
    """The numbers of one matcher and check, and its curve: scores of the same thing, and of others."""
    scores = {kind: np.array([r["score"][check] for r in rows if r["kind"] == kind]) for kind in KINDS}
    same, other = scores["same"], np.concatenate([scores["twin"], scores["elsewhere"]])
    threshold = limit(other, config.rate)
    recall = {}
    for low, high in zip(config.bands[:-1], config.bands[1:]):
        mine = [r for r in rows if r["kind"] == "same" and low <= r["distance"] < high]
        over = [r["score"][check] > threshold for r in mine]
        recall[f"{low:g}-{high:g} m"] = float(np.mean(over)) if over else None
    placed = [r["off"][check] <= config.near for r in rows
              if r["kind"] == "same" and r["score"][check] > threshold]  # fmt: skip
    return {
        "pairs": {kind: len(values) for kind, values in scores.items()},
        "auc": auc(same, other),
        "auc_twin": auc(same, scores["twin"]) if len(scores["twin"]) else None,
        "threshold": threshold,
        "recall": float((same > threshold).mean()),
        "recall_by_distance": recall,
        "placed": float(np.mean(placed)) if placed else None,
        "score_quantiles": np.quantile(same, [0.5, 0.75, 0.9]).tolist(),
        "seconds": {
            "features": float(np.median([r["seconds"]["features"] for r in rows])),
            "match": float(np.mean([r["seconds"]["match"] for r in rows])),
            "check": float(np.mean([r["seconds"][check] for r in rows])),
        },
    }, (same, other)  # fmt: skip


def _table(config: MatchingEvalConfig, summary: dict[str, Any], made_by: str) -> str:
    first = next(iter(summary.values()))
    bands = list(first["recall_by_distance"])
    pairs = ", ".join(f"{count} {kind}" for kind, count in first["pairs"].items())
    heads = ["matcher, check", "AUC", "twins", "above", "recall", *bands, "placed",
             "s features", "s match", "s check"]  # fmt: skip
    lines = [heads]
    for name, s in summary.items():
        lines.append(
            [
                name,
                f"{s['auc']:.3f}",
                _share(s["auc_twin"], 3),
                f"{s['threshold']:.2f}",
                f"{s['recall']:.2f}",
                *(_share(s["recall_by_distance"][band]) for band in bands),
                _share(s["placed"]),
                f"{s['seconds']['features']:.2f}",
                f"{s['seconds']['match']:.2f}",
                f"{s['seconds']['check']:.3f}",
            ]
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    body = [
        "  ".join(cell.ljust(w) if not i else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths)))
        for line in lines
    ]
    camera = config.camera
    return "\n".join(
        [
            f"split {config.split}, seed {config.seed}, frames {camera.width} x {camera.height} at "
            f"{camera.hfov_deg:g} degrees, photos {config.matching.photo} pixels; pairs: {pairs}",
            "",
            *body,
            "",
            f"above: the score that {config.rate:.0%} of the frames of other things exceed; recall: the",
            "share of the same thing's frames above it, in all and by distance; placed: of these, with the",
            f"place within {config.near:g} m of the thing",
            f"seconds on {config.threads} thread(s) of {cpu_model()}",
            "",
            f"made by: {made_by}",
            "",
        ]
    )


def _share(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _roc(curves: dict[str, tuple[np.ndarray, np.ndarray]], rate: float) -> bytes:
    """A PNG of the ROC curves."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    styles = {
        name: style for name, style in zip(dict.fromkeys(n.split(", ")[1] for n in curves), "- -- :".split())
    }
    colours = {name: f"C{i}" for i, name in enumerate(dict.fromkeys(n.split(", ")[0] for n in curves))}
    for name, (same, other) in curves.items():
        levels = np.concatenate([[np.inf], np.unique(np.concatenate([same, other]))[::-1]])
        x, y = [(other >= v).mean() for v in levels], [(same >= v).mean() for v in levels]
        matcher, check = name.split(", ")
        axes.plot(x, y, styles[check], color=colours[matcher], label=f"{name} ({auc(same, other):.2f})")
    axes.axvline(rate, color="0.7", lw=0.8)
    axes.set(xlabel="frames of other things above the threshold", ylabel="frames of the thing above it")
    axes.set(xlim=(0, 1), ylim=(0, 1), title="Photo and frame: the same thing? (area under the curve)")
    axes.legend(loc="lower right", fontsize=8)
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=120, metadata={"Software": None})
    return buffer.getvalue()


def draw(
    path: Path, photo: np.ndarray, frame: Frame, matches: Matches, seen: Verified | None, text: str
) -> None:
    """A photo beside a frame: verified matches green, some of the others red, the object's pixels white."""
    assert frame.rgb is not None
    side, (height, width) = photo.shape[0], frame.depth.shape
    canvas = np.full((max(side, height) + 20, side + width, 3), 255, np.uint8)
    canvas[20 : 20 + side, :side] = photo
    canvas[20 : 20 + height, side:] = frame.rgb
    picture = Image.fromarray(canvas)
    pen = ImageDraw.Draw(picture)
    pen.text((4, 4), text, fill=(0, 0, 0))
    if seen is not None:
        for row, column in zip(seen.rows[::2].tolist(), seen.columns[::2].tolist()):
            pen.point((side + column, 20 + row), fill=(255, 255, 255))
    keep = np.zeros(len(matches), bool) if seen is None else seen.keep
    for good, colour in ((False, (220, 60, 60)), (True, (40, 200, 60))):
        for i in np.flatnonzero(keep == good)[: _SHOWN if good else _SHOWN // 3]:
            (ax, ay), (bx, by) = matches.a[i], matches.b[i]
            pen.line([(ax, 20 + ay), (side + bx, 20 + by)], fill=colour, width=1)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    write_atomic(path, buffer.getvalue())
