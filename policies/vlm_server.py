"""The simulated vision-language model as a server of its own, to try a run against an endpoint:

    python -m policies.vlm_server data=data split=val port=8000

It speaks OpenAI's chat completions at http://127.0.0.1:8000/v1, and answers the questions of the methods that
ship from the truth of the episodes of one split: the client's headers say which episode a question is about.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from hm3dm3_env.cli import command
from hm3dm3_env.episodes.schema import Episode, load_split
from hm3dm3_env.files import data_root
from hm3dm3_env.shared import Privileged
from hm3dm3_env.sim.embedded import EmbeddedSimulator
from hm3dm3_env.vlm.simulated import (
    EPISODE,
    NAME,
    PLAY,
    Answer,
    Session,
    SimulatedEndpoint,
    SimulatedVlmConfig,
)
from policies.co_navgpt2.policy import CoNavGpt2Policy
from policies.lavira_m3.policy import LaviraM3Policy
from policies.rollout import episode_seed

ANSWERS: dict[str, Answer] = {**CoNavGpt2Policy.answers, **LaviraM3Policy.answers}
"""What it says, by level of questions."""
SESSIONS = 8
"""Plays that it keeps apart at a time; older ones are forgotten (ours)."""


@dataclass(frozen=True)
class VlmServerConfig:
    """Which episodes it knows, and how it answers."""

    data: str = "data"
    """Root of scenes/ and episodes/ (HM3DM3_DATA overrides the default)."""
    split: str = "val"
    """Of the episodes that are played."""
    port: int = 8000
    """Of 127.0.0.1; 0: one that is free."""
    seed: int = 0
    """Of its mistakes; with that of the run, it answers like the simulated model in the run itself."""
    simulated: SimulatedVlmConfig = field(default_factory=SimulatedVlmConfig)
    """What goes wrong."""

    def __post_init__(self) -> None:
        if not 0 <= self.port < 65536:
            raise ValueError(f"port must be 0 to 65535, not {self.port}")


class Plays:
    """The sessions of a server whose users are other processes: one for each play of an episode."""

    def __init__(self, config: VlmServerConfig) -> None:
        self.config = config
        self._episodes = {e.id: e for e in load_split(data_root(config.data), config.split)}
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, headers: Mapping[str, str]) -> Session:
        """The session of a request.

        Raises:
            ValueError: it is of no episode that is known here.
        """
        name = headers[EPISODE]
        episode = self._episodes.get(name)
        if episode is None:
            raise ValueError(
                f"header {EPISODE}: no episode {name!r} in split {self.config.split!r} here; start "
                "the server with the split and the data that are played"
            )
        key = f"{name} {headers[PLAY]}"
        with self._lock:  # the first questions of a play come together
            if key not in self._sessions:
                self._sessions[key] = self._open(episode)
                while len(self._sessions) > SESSIONS:
                    self._sessions.popitem(last=False)
            self._sessions.move_to_end(key)
            return self._sessions[key]

    def _open(self, episode: Episode) -> Session:
        sim = EmbeddedSimulator()
        sim.load(episode.scene)
        session = Session("", self.config.simulated)
        session.begin(episode_seed(self.config.seed, episode.id), ANSWERS, Privileged(episode, sim))
        return session


def serve(config: VlmServerConfig) -> None:
    """Serve until Ctrl-C.

    Raises:
        ValueError: the split is missing, or the port is taken.
    """
    plays = Plays(config)
    try:
        server = SimulatedEndpoint(config.port, plays)
    except OSError as error:
        raise ValueError(f"port: 127.0.0.1:{config.port} cannot be served ({error}); give another") from error
    print(f"vlm.base_url={server.url}/v1 vlm.model={NAME}", flush=True)
    try:
        server.wait()
    except KeyboardInterrupt:
        server.close()


main = command(VlmServerConfig, "vlm_server", serve)

if __name__ == "__main__":
    main()
