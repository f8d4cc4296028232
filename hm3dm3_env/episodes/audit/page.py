"""The audit's page: one HTML file without outside resources."""

from __future__ import annotations

import io
from collections import Counter
from html import escape
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hm3dm3_env.episodes.audit.findings import KINDS, Report, Violation
from hm3dm3_env.render.panels import agent_color, goal_color

MODALITIES = {"ON": "category (ON)", "TN": "description (TN)", "IIN": "image (IIN)"}
TOP = 40
"""Categories in the figure."""
LISTED = 200
"""Violations in the page's table; the rest are in violations.json."""
_BLUE, _GREY = "#3b6ea5", "#6b7280"
_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #1e222a; background: #f4f5f7; margin: 0; }
header { background: #1e222a; color: #fff; padding: 18px 32px; }
header h1 { margin: 0; font-size: 24px; } header p { margin: 4px 0 0; color: #c9ced6; }
main { max-width: 1240px; margin: 0 auto; padding: 20px 32px 60px; }
h2 { margin: 32px 0 12px; font-size: 20px; }
.good { color: #16823c; font-weight: 600; } .bad { color: #c81e28; font-weight: 600; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; }
.tile { background: #fff; border-radius: 8px; padding: 10px 18px; min-width: 92px; }
.tile b { display: block; font-size: 22px; }
.figures { display: flex; flex-wrap: wrap; gap: 16px; align-items: flex-start; }
.figures svg { background: #fff; border-radius: 8px; max-width: 100%; height: auto; }
table { border-collapse: collapse; background: #fff; border-radius: 8px; width: 100%; }
td, th { text-align: left; padding: 5px 12px; border-bottom: 1px solid #e5e7eb; vertical-align: top;
  overflow-wrap: anywhere; }
.card { background: #fff; border-radius: 8px; padding: 18px; margin: 0 0 20px; }
.card h3 { margin: 0 0 2px; font-size: 17px; } .quiet { color: #606876; margin: 0 0 12px; }
.parts { display: flex; flex-wrap: wrap; gap: 20px; align-items: flex-start; }
.parts > img { width: 560px; max-width: 100%; border: 1px solid #dde0e5; }
.goals { flex: 1 1 420px; margin: 0; padding: 0; list-style: none; }
.goals li { display: flex; gap: 10px; margin: 0 0 10px; }
.goals .number { color: #fff; font-weight: 700; border-radius: 5px; width: 24px; height: 24px; flex: none;
  text-align: center; line-height: 24px; }
.photos { display: flex; flex-wrap: wrap; gap: 12px; margin: 14px 0 0; }
.photos figure { margin: 0; } .photos img { width: 512px; max-width: 100%; display: block; }
.photos figcaption { color: #606876; }
.dot { display: inline-block; width: 11px; height: 11px; border-radius: 50%; margin-right: 5px; }
"""


def page(split: str, header: dict[str, Any], reports: list[Report], violations: list[Violation]) -> str:
    """The whole page as HTML."""
    facts = sorted((f for report in reports for f in report.facts), key=lambda f: f["index"])
    cards = sorted((c for report in reports for c in report.cards), key=lambda c: c["index"])
    dropped = header.get("dropped", [])
    count = f"{len(violations)} violation" + ("" if len(violations) == 1 else "s")
    state = (
        '<span class="good">No violations.</span>' if not violations else f'<span class="bad">{count}</span>'
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>Audit of {escape(split)}</title><style>{_STYLE}</style></head><body>",
        f"<header><h1>Audit of split {escape(split)}</h1><p>{len(facts)} episodes in {len(reports)} scenes "
        f"of {escape(str(header['scenes_root']))}</p></header><main><h2>Findings</h2>",
        f"<p>{state} Every claim of the split's files was worked out again from the scenes.</p>",
        _table(violations),
        _tiles(facts, len(reports), len(dropped)),
        '<h2>Distributions</h2><div class="figures">',
        *(_figures(facts) if facts else []),
        "</div>",
    ]
    if dropped:
        listed = "".join(f"<li>{escape(line)}</li>" for line in dropped[:LISTED])
        parts.append(f"<h2>Dropped when it was made ({len(dropped)})</h2><ul>{listed}</ul>")
    if cards:
        parts.append(
            "<h2>Some episodes</h2><p>Framed objects count for the goal of their number, dots are its "
            "viewpoints, lines the oracle's tours, and R0 to R3 the robots' starts.</p>"
        )
    parts += [_card(card) for card in cards]
    return "\n".join([*parts, "</main></body></html>", ""])


def _table(violations: list[Violation]) -> str:
    if not violations:
        return ""
    counts = Counter(v.kind for v in violations)
    rows = "".join(
        f"<tr><td>{escape(kind)}</td><td>{n}</td><td>{escape(KINDS[kind])}</td></tr>"
        for kind, n in sorted(counts.items())
    )
    lines = "".join(
        "<tr>"
        + "".join(f"<td>{escape(part)}</td>" for part in (v.kind, v.scene, v.episode, v.field, v.text))
        + "</tr>"
        for v in violations[:LISTED]
    )
    more = (
        f"<p>{len(violations) - LISTED} more are in violations.json.</p>" if len(violations) > LISTED else ""
    )
    return (
        f"<table><tr><th>kind</th><th>count</th><th>meaning</th></tr>{rows}</table><br><table><tr><th>kind</th>"
        f"<th>scene</th><th>episode</th><th>field</th><th>found</th></tr>{lines}</table>{more}"
    )


def _tiles(facts: list[dict[str, Any]], scenes: int, dropped: int) -> str:
    modalities = Counter(m for f in facts for m in f["modalities"])
    categories = {c for f in facts for c in f["categories"]}
    values = [
        ("scenes", scenes),
        ("episodes", len(facts)),
        ("goals", sum(modalities.values())),
        *((MODALITIES[m], modalities[m]) for m in MODALITIES),
        ("categories", len(categories)),
        ("dropped", dropped),
    ]
    tiles = "".join(f'<div class="tile"><b>{value:,}</b>{escape(name)}</div>' for name, value in values)
    return f'<div class="tiles" style="margin-top:16px">{tiles}</div>'


# -- figures -----------------------------------------------------------------------------------------------


def _figures(facts: list[dict[str, Any]]) -> list[str]:
    """SVG figures of all distributions."""
    modalities = Counter(m for f in facts for m in f["modalities"])
    categories = Counter(c for f in facts for c in f["categories"]).most_common(TOP)
    distances = [d for f in facts for d in f.get("distances", [])]
    spans = [f["makespan"] for f in facts if "makespan" in f]
    gaps = [f["gap"] for f in facts if "gap" in f]
    return [
        _bars("Agents K", "episodes", Counter(f["agents"] for f in facts)),
        _bars("Goals M", "episodes", Counter(len(f["modalities"]) for f in facts)),
        _bars("Modality", "goals", {m: modalities[m] for m in MODALITIES}),
        _histogram("Geodesic start to goal", "metres", "pairs", distances),
        _histogram("Oracle makespan d*", "metres", "episodes", spans),
        _histogram("Smallest gap between starts", "metres", "episodes", gaps),
        _ranking(f"Categories, top {len(categories)}", categories),
    ]


def _bars(title: str, unit: str, counts: dict[Any, int]) -> str:
    figure, axes = _axes(title, (3.7, 3.0))
    names = list(counts) if any(isinstance(k, str) for k in counts) else sorted(counts)
    bars = axes.bar([str(name) for name in names], [counts[name] for name in names], color=_BLUE, width=0.62)
    axes.bar_label(bars, color=_GREY, fontsize=9)
    axes.set_ylabel(unit)
    axes.margins(y=0.12)
    return _svg(figure)


def _histogram(title: str, unit: str, what: str, values: list[float]) -> str:
    figure, axes = _axes(title, (3.7, 3.0))
    axes.hist(
        values, bins=min(30, max(8, int(np.sqrt(len(values))))), color=_BLUE, edgecolor="white", linewidth=0.5
    )
    if values:
        middle = float(np.median(values))
        axes.axvline(middle, color="#d97706", linewidth=1.4)
        unit += f" (median {middle:.1f}, {min(values):.1f} to {max(values):.1f})"
    axes.set_xlabel(unit)
    axes.set_ylabel(what)
    return _svg(figure)


def _ranking(title: str, rows: list[tuple[str, int]]) -> str:
    figure, axes = _axes(title, (11.6, 3.9))
    axes.bar(range(len(rows)), [n for _, n in rows], color=_BLUE, width=0.72)
    axes.set_xticks(
        range(len(rows)),
        [name for name, _ in rows],
        rotation=55,
        ha="right",
        rotation_mode="anchor",
        fontsize=9,
    )
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.set_ylabel("goals")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    return _svg(figure)


def _axes(title: str, size: tuple[float, float]) -> tuple[Figure, Axes]:
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=11, fontweight="bold", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors="#374151", labelsize=9)
    return figure, axes


def _svg(figure: Figure) -> str:
    """The figure as an <svg> element; the same figure gives the same text."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "hm3dm3", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = buffer.getvalue()
    return text[text.index("<svg") :]


# -- episodes ----------------------------------------------------------------------------------------------


def _card(card: dict[str, Any]) -> str:
    tours = "; ".join(
        f'<span class="dot" style="background:{_css(agent_color(k))}"></span>R{k}: '
        + (" → ".join(map(str, tour)) + f", {card['lengths'][k]:.1f} m" if tour else "no goal")
        for k, tour in enumerate(card["tours"])
    )
    goals = "".join(_goal(j, goal) for j, goal in enumerate(card["goals"]))
    photos = "".join(
        f'<figure><img alt="{escape(goal["category"])}" src="{goal["photo"]}"><figcaption>goal {j}: '
        f"{escape(goal['category'])}</figcaption></figure>"
        for j, goal in enumerate(card["goals"])
        if goal["photo"]
    )
    return (
        f'<div class="card"><h3>{escape(card["episode"])}</h3><p class="quiet">'
        f"scene {escape(card['scene'])}, "
        f"{card['agents']} agents, {len(card['goals'])} goals, "
        f"d* {card['makespan']:.2f} m<br>{tours}</p>"
        f'<div class="parts"><img alt="floor plan" src="{card["plan"]}"><ul class="goals">{goals}</ul></div>'
        f'<div class="photos">{photos}</div></div>'
    )


def _goal(j: int, goal: dict[str, Any]) -> str:
    if goal["modality"] == "ON":
        count = "1 object counts" if goal["accepts"] == 1 else f"{goal['accepts']} objects count"
        text = f"<b>{escape(goal['text'])}</b> ({count})"
    elif goal["modality"] == "TN":
        listed = ", ".join(f"{kind} {value}" for kind, value in goal["predicates"])
        text = f"<b>“{escape(goal['text'])}”</b><br><span class='quiet'>{escape(listed)}</span>"
    else:
        text = f"image of the {escape(goal['category'])} (below)"
    return (
        f'<li><span class="number" style="background:{_css(goal_color(j))}">{j}</span>'
        f"<span>{MODALITIES[goal['modality']]}: {text}</span></li>"
    )


def _css(color: tuple[int, int, int]) -> str:
    return "rgb({}, {}, {})".format(*color)
