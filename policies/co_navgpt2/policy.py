"""Co-NavGPT2 for a team with several goals: a vision-language model assigns frontiers to robots.

Co-NavGPT2 (Yu et al.) asks one central VLM which robot explores which frontier. What it does, as far as its
published code shows, and what was adapted:

- It keeps at most 6 frontiers. The original's own file for that is missing from its repository; a fork sorts
  them by area, smallest first, and so keeps the smallest. Ours: those with most frontier cells, and frontiers
  whose cells come close to each other are one (`FrontierConfig.cluster`).
- It asks at the first step and every 25 steps. Ours asks more often: every `replan` steps, and whenever a
  robot that searches has no frontier (it was reached, or is none any more). With `replan` 25 that was a
  question about every 12 steps (measured on generated houses). Robots look around first; until then nobody
  is asked.
- It sends one image a frontier, the map from above with this frontier in red, and the name of its one goal.
  Ours: one picture with all frontiers, and words (`prompt.py`): robots, the ways to each frontier, all goals
  that are still looked for, with photos of image goals, and what was seen.
- It checks the number of entries, asks up to 5 times, and falls back on one frontier for everybody. Ours: a
  JSON schema; `vlm.answers` tries; then each robot keeps its frontier while it is there, or goes to the
  nearest that is free.
- Robots may get the same frontier there. Ours asks for different ones while there are enough; an answer that
  repeats one all the same is followed, and counted.
- Candidates, approach and declaration are the lower level that all methods share.

Where no frontier is left, robots look around again at places that nobody looked at from nearby, as all
methods on this lower level do; nobody is asked then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hm3dm3_env.geometry import plan
from hm3dm3_env.shared import SharedState
from hm3dm3_env.vlm.config import VlmError
from hm3dm3_env.vlm.pictures import Picture
from hm3dm3_env.vlm.session import Question
from policies.base import TeamTask
from policies.co_navgpt2 import picture, prompt
from policies.co_navgpt2.answer import answer
from policies.co_navgpt2.prompt import LEVEL, Assignment, Seen
from policies.crew import CrewConfig, nearest_free
from policies.frontier_policy import FrontierPolicy
from policies.frontiers import FrontierConfig

CLUSTER = 0.4
"""Metres (ours): less than what clearance and a wall keep between frontiers on its two sides."""
REASON = 300
"""Characters of a reason that records keep (ours)."""


@dataclass(frozen=True)
class CoNavGpt2Config:
    """What the VLM is shown and how often, and the shared lower level."""

    replan: int = 25
    """Steps after which all free robots are assigned anew (Co-NavGPT2). They are so too whenever one of them
    needs a frontier, which is more often: see the module."""
    frontiers: int = 6
    """At most this many are offered, the longest first (Co-NavGPT2: 6)."""
    candidates: int = 12
    """At most this many things seen are told of, those with the highest scores (ours)."""
    photos: bool = True
    """Send the photos of image goals (ours)."""
    picture: int = 640
    """Side of the map's picture, pixels (ours)."""
    spread: float = 1.0
    """A robot that chooses for itself takes a frontier within this of a teammate's only when there is no
    other, metres (ours)."""
    crew: CrewConfig = field(
        default_factory=lambda: CrewConfig(use_heat=False, frontiers=FrontierConfig(cluster=CLUSTER))
    )

    def __post_init__(self) -> None:
        if self.replan < 1 or self.frontiers < 1 or self.candidates < 0 or not self.spread >= 0:
            raise ValueError(
                "replan and frontiers must be at least 1, candidates and spread not negative, not "
                f"{self.replan}, {self.frontiers}, {self.candidates} and {self.spread}"
            )
        if not 300 <= self.picture <= 4096:
            raise ValueError(f"picture must be 300 to 4096 pixels, not {self.picture}")


class CoNavGpt2Policy(FrontierPolicy):
    """The VLM's frontiers; the nearest robot takes an accepted candidate."""

    Config = CoNavGpt2Config
    answers = {LEVEL: answer}

    def reset(self, task: TeamTask) -> None:
        """A new episode."""
        super().reset(task)
        assert task.vlm is not None, "Co-NavGPT2 needs a VLM"
        self.vlm = task.vlm
        self.last: int | None = None
        self.log: list[dict[str, Any]] = []
        self.fallbacks = 0

    def target(self, k: int, shared: SharedState) -> np.ndarray | None:
        """Where the VLM sent the robot; it is asked when the time has come or the robot has no frontier, at
        most once a step. A robot that still has none goes to the nearest that is free."""
        overdue = self.last is None or shared.step - self.last >= self.config.replan
        if (overdue or self._lost(k)) and self.last != shared.step:
            self._assign("period" if overdue else "idle", shared)
        if self._lost(k):
            self.targets[k] = None
            points, distances = self.crew.options(k)
            self._choose(k, points, distances)
        return self.targets[k]

    def _lost(self, k: int) -> bool:
        """Whether a robot has no frontier (any more)."""
        place = self.targets[k]
        return place is None or not self.crew.still_there(place)

    def _choose(self, k: int, points: np.ndarray, distances: np.ndarray) -> None:
        """The nearest free place for a robot, without the VLM."""
        pick = nearest_free(distances, points, self.others(k), self.config.spread)
        if pick is not None:
            self.targets[k] = points[pick]
            self.fallbacks += bool(self.crew.frontiers().sizes.any())  # not where robots look around again

    # -- asking --------------------------------------------------------------------------------------------

    def _assign(self, event: str, shared: SharedState) -> None:
        """Ask, and send the free robots where the answer says; where there is none, see the module."""
        self.last = shared.step
        question = self._question(shared)
        if question is None:
            return
        entry: dict[str, Any] = {"step": shared.step, "event": event, "by": "vlm"}
        image = Picture(picture.draw(question, shared, self.config.picture), f"map step {shared.step}")
        chat = prompt.chat(question, shared, image, self.config.photos)
        (said,) = self.vlm.ask([Question(LEVEL, "team", shared.step, chat, prompt.schema(question))])
        if isinstance(said, VlmError):
            entry |= {"by": "fallback", "error": type(said).__name__}
            self._fall_back(question)
        else:
            places = prompt.chosen(said, question)
            for k, place in zip(question.robots, places):
                self.targets[k] = question.points[place]
            enough = len(question.points) >= len(places)
            entry |= {"reason": said["reason"][:REASON], "repeats": enough and len(set(places)) < len(places)}
        entry["frontiers"] = [plan(p) for p in question.points]
        going = [(k, self.targets[k]) for k in question.robots]
        entry["targets"] = {f"robot_{k}": None if place is None else plan(place) for k, place in going}
        self.log.append(entry)

    def _fall_back(self, question: Assignment) -> None:
        """Every free robot keeps its frontier while it is there, or goes to the nearest that is free."""
        lost = [k for k in question.robots if self._lost(k)]
        self.fallbacks += len(question.robots) - len(lost)
        for k in lost:
            self.targets[k] = None
        for k in lost:
            self._choose(k, *self.crew.options(k))

    def _question(self, shared: SharedState) -> Assignment | None:
        """What to ask; None where no robot is free or none reaches a frontier."""
        crew = self.crew
        free = [k for k, alive in enumerate(shared.alive) if alive and k not in self.taken]
        for k in free:
            crew.options(k)  # what nobody can reach is given up
        found = crew.frontiers()
        distances = np.array([crew.frontier_distances(k) for k in free]).reshape(len(free), len(found.points))
        open_ = np.flatnonzero((found.sizes > 0) & np.isfinite(distances).any(0))
        kept = open_[np.argsort(-found.sizes[open_], kind="stable")][: self.config.frontiers]
        able = np.isfinite(distances[:, kept]).any(1)
        if not able.any():
            return None
        robots = [k for k, can in zip(free, able) if can]
        points = found.points[kept]
        return Assignment(
            robots=robots,
            busy={k: j for k, j in self.taken.items() if shared.alive[k]},
            points=points,
            sizes=found.sizes[kept],
            distances=distances[able][:, kept],
            going=[self._going(k, points) for k in robots],
            seen=self._seen(shared),
        )

    def _going(self, k: int, points: np.ndarray) -> int | None:
        """Which of the frontiers on offer a robot is under way to."""
        place = self.targets[k]
        if place is None:
            return None
        gaps = np.hypot(points[:, 0] - place[0], points[:, 2] - place[2])
        return int(gaps.argmin()) if gaps.min() < self.config.crew.frontiers.done_radius else None

    def _seen(self, shared: SharedState) -> list[Seen]:
        tracks = [t for j, left in enumerate(shared.unresolved) if left for t in self.crew.tracker.tracks[j]]
        tracks.sort(key=lambda t: -t.score)
        return [Seen(t.goal, t.point, t.score) for t in tracks[: self.config.candidates]]

    def record(self) -> dict[str, Any]:
        """What was used (`fallbacks`: frontiers that robots got or kept without an answer;
        `repeated`: answers with a frontier twice although there were enough), every assignment, and the
        candidates at the end."""
        repeated = sum(entry.get("repeats", False) for entry in self.log)
        vlm = {"fallbacks": self.fallbacks}
        return {"vlm": vlm, "repeated": repeated, "assignments": self.log, **super().record()}
