"""DAgRL as a NavigationPolicy, and a look into its checkpoints.

    python -m policies.navigation.ovon <checkpoint> [key=value ...]

prints what a checkpoint holds and whether it fits the network: tensors and sizes by part, missing and
unexpected names, shapes and settings that differ. Exit code 0: it fits; 1: it does not; 2: wrong input.

    checkpoint=<file>   the same as the bare argument
    names=true          list every tensor with its shape
    trusted=true        unpickle without restrictions where nothing else works; that can run code from the
    file
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from policies.navigation.base import NO_ACTION, Moves, NavigationPolicy, Views, from_ovon, to_ovon
from policies.navigation.checkpoint import compare, load_ovon, read
from policies.navigation.network import OvonNetwork
from policies.navigation.siglip import TEXT_MODEL, GoalEncoder, GoalTable, SiglipImages, SiglipText

__all__ = ["OvonPolicy", "load_ovon", "main"]


class OvonPolicy(NavigationPolicy):
    """Drives robots with DAgRL. It was trained on frames 360 wide and 640 high with a horizontal field of
    view of 42 degrees, 1.31 m above the floor (OVON's task `objectnav_stretch_hm3d`); frames of other sizes
    are taken, and are other than what it knows.

    A robot whose goal changes must be restarted: DAgRL was trained with one goal an episode. Depth is not
    used.

    Attributes:
        values: (n,) float32, the critic's estimates at the last `act`; NaN without a critic.
    """

    def __init__(self, network: OvonNetwork, goals: GoalEncoder | None = None, sample: bool = True) -> None:
        """
        Args:
            network: from `load_ovon`, with an image tower.
            goals: embeds goals that are given as words.
            sample: draw actions from the policy's distribution, as OVON's evaluation does; otherwise take the
                most probable one.
        """
        self.network = network.eval()
        self.goals = goals
        self.sample = sample
        self.values = np.zeros(0, np.float32)
        self._memory = network.memory(0)
        self._rngs: list[np.random.Generator] = []
        self._embedded: dict[str, np.ndarray] = {}

    @classmethod
    def load(
        cls,
        checkpoint: Path | str,
        goals: Path | str = TEXT_MODEL,
        sample: bool = True,
        trusted: bool = False,
        device: torch.device | str = "cpu",
    ) -> OvonPolicy:
        """The policy of a published checkpoint.

        Args:
            checkpoint: the file (dagrl.pth).
            goals: a .npz that `GoalTable.save` wrote, or a source of the text tower as `SiglipText.load`
                takes it.
            sample: as above.
            trusted: as of `checkpoint.read`.
            device: of the network.

        Raises:
            FileNotFoundError: a file that is not there.
            ValueError: one that does not fit.
            ImportError: timm or open_clip is needed and not installed.
        """
        table = str(goals).endswith(".npz")
        encoder: GoalEncoder = GoalTable.load(goals) if table else SiglipText.load(str(goals))
        network, _ = load_ovon(checkpoint, trusted=trusted, device=device)
        return cls(network, encoder, sample)

    def reset(self, robots: int, rng: np.random.Generator) -> None:
        """A new episode; each robot draws from a generator of its own, spawned from `rng`, so that what one
        draws does not depend on when others act."""
        if robots < 1:
            raise ValueError(f"a team has at least one robot, not {robots}")
        self._memory = self.network.memory(robots)
        self._rngs = rng.spawn(robots)

    def restart(self, robots: Sequence[int]) -> None:
        """These robots begin a new task, with an empty memory."""
        self._memory.clear(self._rows(robots))

    def act(self, robots: Sequence[int], views: Views) -> Moves:
        """The next actions; `views` has a row a robot. The previous action counts as none on a robot's first
        step, whatever `views` says."""
        rows = self._rows(robots)
        if len(views.goals) != len(rows):
            raise ValueError(f"{len(rows)} robots act, but views have {len(views.goals)} rows")
        if not len(rows):
            self.values = np.zeros(0, np.float32)
            return Moves(np.zeros(0, np.int64), np.zeros(0, bool))
        if views.rgb is None:
            raise ValueError(f"{type(self).__name__} looks at frames: views need rgb")
        device = rows.device
        goals = torch.from_numpy(np.stack([self._embed(goal) for goal in views.goals])).to(device)
        previous = torch.from_numpy(to_ovon(views.previous)).to(device)
        with torch.inference_mode():
            previous = torch.where(self._memory.steps[rows] == 0, NO_ACTION, previous)
            features = self.network.see(torch.from_numpy(views.rgb).to(device))  # (n, F)
            logits, values = self.network.step(features, goals, previous, self._memory, rows)
            probabilities = logits.double().softmax(-1).cpu().numpy()  # (n, A)
        self.values = (
            np.full(len(rows), np.nan, np.float32) if values is None else values.float().cpu().numpy()
        )
        if not self.sample:
            return from_ovon(probabilities.argmax(-1))
        drawn = [_draw(p, self._rngs[robot]) for robot, p in zip(robots, probabilities)]
        return from_ovon(np.array(drawn, np.int64))

    def embed_image(self, image: np.ndarray) -> np.ndarray:
        """(D,) float32 embedding of a goal that is a photo, (S, S, 3) uint8: what the image tower says of it.
        SigLIP's towers share a space; DAgRL itself was trained with categories only (ours).

        Raises:
            ValueError: a network whose towers do not share a space.
        """
        config = self.network.config
        if config.image_features != config.goal_features:
            raise ValueError(
                f"goal images need towers of one space; features of images have {config.image_features} "
                f"numbers, those of goals {config.goal_features}"
            )
        device = self._memory.steps.device
        with torch.inference_mode():
            return self.network.see(torch.from_numpy(image[None]).to(device))[0].float().cpu().numpy()

    def _rows(self, robots: Sequence[int]) -> torch.Tensor:
        known = len(self._rngs)
        wrong = [robot for robot in robots if not 0 <= robot < known]
        if wrong or len(set(robots)) != len(robots):
            raise ValueError(
                f"robots {list(robots)}: each at most once, from 0 to {known - 1} (reset was called for "
                f"{known})"
            )
        return torch.tensor(list(robots), dtype=torch.int64, device=self._memory.steps.device)

    def _embed(self, goal: str | np.ndarray) -> np.ndarray:
        if isinstance(goal, str):
            if goal not in self._embedded:
                if self.goals is None:
                    raise ValueError(
                        f"goal {goal!r} is words, and this policy has no encoder for them; give `goals` "
                        "(SiglipText or GoalTable), or goals as vectors"
                    )
                self._embedded[goal] = self.goals.embed(goal)
            goal = self._embedded[goal]
        size = self.network.config.goal_features
        if goal.shape != (size,):
            raise ValueError(f"a goal's embedding has shape {goal.shape}; this network takes ({size},)")
        return np.asarray(goal, np.float32)


def _draw(probabilities: np.ndarray, rng: np.random.Generator) -> int:
    """One index, by the inverse of the cumulative sum."""
    cumulative = np.cumsum(probabilities)
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def main(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    if not arguments or set(arguments) & {"-h", "--help", "help"}:
        print(__doc__)
        return 0 if arguments else 2
    values = {"checkpoint": "", "names": "false", "trusted": "false"}
    try:
        for argument in arguments:
            key, equals, value = argument.partition("=")
            if not equals or Path(argument).is_file():
                key, value = "checkpoint", argument
            if key not in values:
                raise ValueError(f"unknown argument {key}=; there are {', '.join(f'{k}=' for k in values)}")
            if key != "checkpoint" and value not in ("true", "false"):
                raise ValueError(f"{key}={value}: needs true or false")
            values[key] = value
        if not values["checkpoint"]:
            raise ValueError(
                "no checkpoint; give a file, as in `python -m policies.navigation.ovon dagrl.pth`"
            )
        contents = read(values["checkpoint"], trusted=values["trusted"] == "true")
        try:
            images = SiglipImages.build()
        except ImportError:
            images = None
        report = compare(values["checkpoint"], contents, OvonNetwork(images=images))
    except (ValueError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(report.text())
    if values["names"] == "true":
        print("", *(f"{name}  {shape}" for name, shape in report.shapes.items()), sep="\n")
    return 0 if report.fits else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
