"""The table: percent with 95% intervals, and all that one must know to trust it."""

from __future__ import annotations

from typing import Any

COLUMNS = (
    "method",
    "SR",
    "seeds",
    "SPL",
    "ON",
    "TN",
    "IIN",
    "episode",
    "makespan",
    "wrong",
    "never",
    "recogniser",
    "encoder",
    "privileged",
)


def percent(value: float | None, ci: list[float] | None = None) -> str:
    """ "41.0 [38.2, 43.9]" """
    if value is None:
        return "-"
    text = f"{100 * value:.1f}"
    return text if ci is None else f"{text} [{100 * ci[0]:.1f}, {100 * ci[1]:.1f}]"


def seeds(runs: list[float | None]) -> str:
    """ "3: 38.1-42.0": how many training seeds, and the lowest and highest SR among them."""
    known = [value for value in runs if value is not None]
    return "" if len(known) < 2 else f"{len(known)}: {100 * min(known):.1f}-{100 * max(known):.1f}"


def rows(summary: dict[str, Any]) -> list[list[str]]:
    """The table's cells, header first."""
    found = [list(COLUMNS)]
    for name, s in summary.items():
        found.append(
            [
                name,
                percent(s["sr"], s["sr_ci"]),
                seeds(s["sr_runs"]),
                percent(s["spl"], s["spl_ci"]),
                percent(s["sr_on"]),
                percent(s["sr_tn"]),
                percent(s["sr_iin"]),
                percent(s["episode_success"]),
                f"{s['makespan']:.1f} m",
                str(s["wrong"]),
                str(s["never"]),
                s["recogniser"],
                s["encoder"] or "-",
                "yes" if s["privileged"] else "no",
            ]
        )
    return found


def table(summary: dict[str, Any], made_by: str) -> str:
    """Plain text: what was evaluated, the rows, and the command."""
    cells = rows(summary)
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
    first = next(iter(summary.values()))
    head = (
        f"split {first['split']}: {first['episodes']} episodes, {first['goals']} goals, "
        f"{first['scenes']} scenes; seed {first['seed']}; camera {first['camera']}; "
        f"simulator {first['simulator']}; "
        f"mean oracle makespan d* {first['oracle_makespan']:.1f} m"
    )
    foot = (
        "SR, SPL, ON, TN, IIN and episode success in percent; [95% bootstrap interval over episodes]; "
        "makespan: longest path of the team; seeds: trainings that a row is the mean of, their lowest and "
        "highest SR. The encoder makes heat maps, for methods that use them. Simulated eyes read the scene's "
        "truth through a noise model: such rows compare coordination, not perception."
    )
    return (
        "\n".join([head, "", lines[0], "-" * len(lines[0]), *lines[1:], "", foot, f"made by: {made_by}"])
        + "\n"
    )
