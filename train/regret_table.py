"""The table and the picture of `train.assignment`."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def report(summary: dict[str, Any], made_by: str) -> str:
    """Plain text: what was compared on which scenes, the rows, and the command."""
    rows: dict[str, dict[str, Any]] = summary["rows"]
    groups = list(next(iter(rows.values()))["by"])
    cells = [["assignment", "regret", "less than the rule", "team", "label", "seeds", *groups]]
    for name, row in rows.items():
        seen = f" (trained on {len(row['seen'])} of these scenes)" if row.get("seen") else ""
        cells.append(
            [
                name + seen,
                f"{row['regret']:.2f} {_span(row['regret_ci'])}",
                f"{row['less_than_rule']:+.2f} {_span(row['less_than_rule_ci'])}",
                f"{row['team_regret']:.2f}",
                f"{100 * row['agreement']:.1f}%",
                _spread(row) if row.get("files") else "",
                *(f"{row['by'][group]:.2f}" for group in groups),
            ]
        )
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells]
    scenes = summary["scenes"]
    head = (
        f"{summary['dataset']}: {summary['samples']} samples in {len(scenes)} scenes: {', '.join(scenes)}. "
        + (
            "No checkpoint was trained on them."
            if not any(row.get("seen") for row in rows.values())
            else "Some checkpoints WERE trained on some of them, as their rows say."
        )
    )
    foot = (
        "regret: metres of makespan that a robot's goal costs more than its best choice if all others do "
        "their best, mean over robots (higa.regret); team: the largest of a team's, a lower bound of the "
        "joint regret. less than the rule: paired difference. [95% bootstrap interval over scenes]. label: "
        "share of robots that get the oracle's goal. seeds: least and most of several checkpoints. "
        "K robots, M goals. "
        f"Checkpoints are decoded by: {summary['decoder']}. * reads the truth."
    )
    return (
        "\n".join([head, "", lines[0], "-" * len(lines[0]), *lines[1:], "", foot, f"made by: {made_by}"])
        + "\n"
    )


def _span(ci: list[float]) -> str:
    return f"[{ci[0]:.2f}, {ci[1]:.2f}]"


def _spread(row: dict[str, Any]) -> str:
    seeds = row["seeds"]
    return "1" if len(seeds) == 1 else f"{len(seeds)}: {min(seeds):.2f} to {max(seeds):.2f}"


def draw(summary: dict[str, Any], path: Path) -> None:
    """Bars of regret with intervals and a dot a seed; and regret by the numbers of robots and goals."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = summary["rows"]
    names = list(rows)
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(11, 1.2 + 0.42 * len(names)), gridspec_kw={"width_ratios": [1.2, 1]}
    )
    for place, name in enumerate(names):
        row = rows[name]
        color = "tab:blue" if row.get("files") else "tab:green" if row.get("privileged") else "tab:gray"
        low, high = row["regret_ci"]
        left.barh(place, row["regret"], color=color, alpha=0.7)
        left.plot([low, high], [place, place], color="black", linewidth=1.2)
        if len(row["seeds"]) > 1 and row.get("files"):
            left.plot(row["seeds"], [place] * len(row["seeds"]), "o", color="black", markersize=3)
        right.plot(list(row["by"]), list(row["by"].values()), marker="o", markersize=3, label=name)
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    left.set_xlabel(f"regret (m), 95% over {len(summary['scenes'])} unseen scenes")
    right.set_ylabel("regret (m)")
    right.set_ylim(bottom=0)
    right.legend(fontsize=7)
    for axis in (left, right):
        axis.grid(alpha=0.3)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
