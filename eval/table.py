"""The table: percent with 95% intervals, and all that one must know to trust it."""

from __future__ import annotations

from typing import Any

from hm3dm3_env.workers import cpu_model

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
    "camera",
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
                s["camera"],
                s["recogniser"],
                s["encoder"] or "-",
                "yes" if s["privileged"] else "no",
            ]
        )
    return found


def differences(summary: dict[str, Any], against: str) -> list[list[str]]:
    """The cells of the paired differences, header first; empty without any."""
    found = [["method", f"SR minus {against}", f"SPL minus {against}"]]
    for name, s in summary.items():
        gain = s.get("gain")
        if gain:
            found.append([name, *(_signed(gain[key], gain[f"{key}_ci"]) for key in ("sr", "spl"))])
    return found if len(found) > 1 else []


def cost_rows(costs: dict[str, dict[str, Any]]) -> list[list[str]]:
    """The cells of what decisions cost, header first. A step is one decision for the whole team."""
    head = ["method", "ms a step", "of it eyes", "VLM", "calls", "tokens read", "written", "failed"]
    found = [head]
    for name, c in costs.items():
        times = [_number(c["step_ms"]), _number(c["eyes_ms"])]
        vlm = [_number(c[f"vlm_{key}"]) for key in ("calls", "tokens_in", "tokens_out", "failed")]
        found.append([name, *times, c["vlm"] or "-", *vlm])
    return found


def level_rows(costs: dict[str, dict[str, Any]]) -> list[list[str]]:
    """The cells of what each level of questions to a VLM costs, header first; empty where none was asked."""
    head = ["method", "VLM", "level", "calls", "tokens read", "written", "seconds a call"]
    found = [[*head, "refused", "lost", "unfit", "failed", "cost"]]
    for name, c in costs.items():
        for level, use in c.get("levels", {}).items():
            numbers = [_number(use[key]) for key in ("calls", "tokens_in", "tokens_out")]
            seconds = "-" if use["seconds"] is None else f"{use['seconds']:.3f}"
            wrong = [f"{use[key]:.2f}" for key in ("refused", "lost", "unfit", "failed")]
            cost = f"{use['cost']:.4f}" if use["cost"] else "-"
            found.append([name, c["vlm"] or "-", level.rpartition(".")[2], *numbers, seconds, *wrong, cost])
    return found if len(found) > 1 else []


def _signed(value: float, ci: list[float]) -> str:
    return f"{100 * value:+.1f} [{100 * ci[0]:+.1f}, {100 * ci[1]:+.1f}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _align(cells: list[list[str]]) -> list[str]:
    """Columns of equal width, with a line under the header."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def table(summary: dict[str, Any], made_by: str, costs: dict[str, dict[str, Any]], against: str = "") -> str:
    """Plain text: what was evaluated, the rows, differences to the method `against`, what decisions cost on
    this machine (which is the only part that differs from run to run), and the command."""
    first = next(iter(summary.values()))
    cameras = {s["camera"] for s in summary.values()}
    camera = f"camera {first['camera']}; " if len(cameras) == 1 else ""
    head = (
        f"split {first['split']}: {first['episodes']} episodes, {first['goals']} goals, "
        f"{first['scenes']} scenes; seed {first['seed']}; {camera}"
        f"simulator {first['simulator']}; "
        f"mean oracle makespan d* {first['oracle_makespan']:.1f} m"
    )
    cells = rows(summary)
    if len(cameras) == 1:
        column = COLUMNS.index("camera")
        cells = [row[:column] + row[column + 1 :] for row in cells]
    foot = (
        "SR, SPL, ON, TN, IIN and episode success in percent; [95% bootstrap interval over episodes]; "
        "makespan: longest path of the team; seeds: trainings that a row is the mean of, their lowest and "
        "highest SR. The encoder makes heat maps, for methods that use them. Simulated eyes read the scene's "
        "truth through a noise model, and so does a simulated VLM: such rows compare coordination, not "
        "perception. Episodes of one house "
        "are alike, so intervals over houses would be wider."
    )
    lines = [head, "", *_align(cells), "", foot]
    gains = differences(summary, against)
    if gains:
        lines += ["", "Paired differences in points, over the same episodes [95% bootstrap interval]", ""]
        lines += _align(gains)
    lines += [
        "",
        f"Cost: a step of the team, median of episodes ({cpu_model()}); calls and tokens an episode",
        "",
    ]
    lines += [*_align(cost_rows(costs)), ""]
    levels = level_rows(costs)
    if levels:
        lines += ["VLM by level of questions: means of an episode; refused: status 429, lost: no response,"]
        lines += ["unfit: no JSON or not by the schema, failed: no usable answer after repeats; seconds: the"]
        lines += ["median of a call, with its repeats and the pauses before them", ""]
        lines += [*_align(levels), ""]
    lines += [f"made by: {made_by}"]
    return "\n".join(lines) + "\n"
