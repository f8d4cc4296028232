"""Views of the environment for libraries that want something else; each changes one thing and has a version.

    env = flatten_obs_v0(parallel_env(split="mini"))

`flatten_obs_v0`: one vector an observation. `mask_to_obs_v0`: the action mask inside the observation.
`remove_finished_agents_v0`: robots out of budget leave `agents` (PettingZoo's strict form).
They can be stacked.
"""

from hm3dm3_env.wrappers.flatten_obs import flatten_obs_v0
from hm3dm3_env.wrappers.mask_to_obs import mask_to_obs_v0
from hm3dm3_env.wrappers.remove_finished_agents import remove_finished_agents_v0

__all__ = ["flatten_obs_v0", "mask_to_obs_v0", "remove_finished_agents_v0"]
