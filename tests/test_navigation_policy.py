"""DAgRL behind the NavigationPolicy interface: memory, actions, published checkpoints, and the command."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from hm3dm3_env.task import ACTIONS, MOVES, WAIT, declare
from policies.navigation.base import NO_ACTION, OVON_ACTIONS, STOP, Views, from_ovon, to_ovon
from policies.navigation.decoder import Decoder, DecoderConfig, Memory
from policies.navigation.network import OvonNetwork
from policies.navigation.ovon import OvonPolicy
from tests.small_ovon import CONFIG, TINY, make_network, make_views


def _decoder(config: DecoderConfig = TINY) -> Decoder:
    return make_network(replace(CONFIG, decoder=config)).net.state_encoder.model


# Actions


def test_the_six_actions_of_ovon_are_moves_of_ours():
    moves = from_ovon(np.arange(6))
    assert [ACTIONS[a] for a in moves.actions] == ["wait", *OVON_ACTIONS[1:]]
    assert moves.arrived.tolist() == [True] + [False] * 5


def test_executed_moves_go_back_and_what_ovon_lacks_is_no_action():
    moves = np.arange(1, 6)
    assert (to_ovon(from_ovon(moves).actions) == moves).all()
    others = np.array([WAIT, declare(0), declare(4), NO_ACTION])
    assert (to_ovon(others) == NO_ACTION).all()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"rgb": np.zeros((2, 4, 4, 3), np.float32)}, "uint8"),
        ({"rgb": np.zeros((3, 4, 4, 3), np.uint8)}, "got 3"),
        ({"previous": np.zeros(3, int)}, r"shape \(3,\)"),
        ({"previous": np.array([1.0, 2.0])}, "integers"),
        ({"previous": np.array([1, 11])}, "no action 11"),
        ({"depth": np.zeros((2, 3, 3), np.float32)}, "depth"),
    ],
)
def test_views_that_do_not_fit_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        replace(make_views(2), **change)


# Decoder and memory


def test_steps_with_memory_equal_whole_sequences_far_beyond_the_context():
    decoder, steps = _decoder(), 4 * TINY.context
    x = torch.randn(3, steps, TINY.width, generator=torch.Generator().manual_seed(1))
    whole = decoder(x)
    memory, robots = Memory(TINY, 3), torch.arange(3)
    stepped = torch.stack([decoder.step(x[:, t], memory, robots) for t in range(steps)], 1)
    torch.testing.assert_close(stepped, whole, atol=1e-4, rtol=1e-4)


def test_robots_that_restart_and_pause_at_different_times_do_not_touch_each_other():
    decoder, steps = _decoder(), 30
    x = torch.randn(3, steps, TINY.width, generator=torch.Generator().manual_seed(2))
    restarts = {0: [0], 1: [0, 4, 17], 2: [0, 11]}
    pauses = {0: range(5, 9), 1: (), 2: range(20, 22)}
    memory = Memory(TINY, 3)
    inputs: dict[tuple[int, int], list[torch.Tensor]] = {}
    outputs: dict[tuple[int, int], list[torch.Tensor]] = {}
    for t in range(steps):
        for k in range(3):
            if t in restarts[k]:
                memory.clear(torch.tensor([k]))
        active = torch.tensor([k for k in (2, 0, 1) if t not in pauses[k]])
        for k, y in zip(active.tolist(), decoder.step(x[active, t], memory, active)):
            task = (k, max(start for start in restarts[k] if start <= t))
            inputs.setdefault(task, []).append(x[k, t])
            outputs.setdefault(task, []).append(y)
    assert len(inputs) == 6
    for task, tokens in inputs.items():
        torch.testing.assert_close(
            torch.stack(outputs[task]), decoder(torch.stack(tokens)[None])[0], atol=1e-4, rtol=1e-4
        )


def test_a_layer_sees_the_context_and_nothing_before_it():
    config = replace(TINY, layers=1)
    decoder = _decoder(config)
    x = torch.randn(1, 20, config.width, generator=torch.Generator().manual_seed(3))
    changed = x.clone()
    changed[0, 4] += 1
    differs = (decoder(x) - decoder(changed)).abs().amax(-1)[0] > 1e-6
    assert differs.nonzero()[:, 0].tolist() == list(range(4, 4 + config.context))


def test_only_the_difference_of_positions_counts():
    decoder = _decoder()
    x = torch.randn(2, 5, TINY.width, generator=torch.Generator().manual_seed(4))
    position = torch.arange(5).expand(2, 5)
    torch.testing.assert_close(decoder(x, position + 31), decoder(x), atol=1e-4, rtol=1e-4)
    assert (decoder(x, 2 * position) - decoder(x)).abs().max() > 1e-2


def _by_the_book(decoder: Decoder, x: np.ndarray) -> np.ndarray:
    """(T, D) from (T, D), step by step and head by head, with rotations as complex numbers."""
    config, weights = decoder.config, {k: v.double().numpy() for k, v in decoder.state_dict().items()}
    size = config.width // config.heads
    turn = config.rotary_base ** (-np.arange(size // 2) / (size // 2))

    def norm(y, name):
        return y / np.sqrt((y**2).mean(-1, keepdims=True) + config.epsilon) * weights[f"{name}.weight"]

    def turned(y, t):
        return (y[: size // 2] + 1j * y[size // 2 :]) * np.exp(1j * t * turn)

    for i in range(config.layers):
        layer = f"layers.{i}"
        y = norm(x, f"{layer}.input_layernorm")
        q, k, v = (y @ weights[f"{layer}.self_attn.{n}_proj.weight"].T for n in "qkv")
        out = np.zeros_like(x)
        for h in range(config.heads):
            part = slice(h * size, (h + 1) * size)
            for t in range(len(x)):
                seen = range(max(0, t - config.context + 1), t + 1)
                score = [np.vdot(turned(k[s, part], s), turned(q[t, part], t)).real for s in seen]
                share = np.exp(np.array(score) / np.sqrt(size))
                out[t, part] = share / share.sum() @ v[list(seen), part]
        x = x + out @ weights[f"{layer}.self_attn.o_proj.weight"].T
        y = norm(x, f"{layer}.post_attention_layernorm")
        gate, up = (y @ weights[f"{layer}.mlp.{n}_proj.weight"].T for n in ("gate", "up"))
        x = x + (gate / (1 + np.exp(-gate)) * up) @ weights[f"{layer}.mlp.down_proj.weight"].T
    return norm(x, "norm")


def test_decoder_computes_what_the_papers_say():
    decoder = _decoder()
    x = torch.randn(1, 3 * TINY.context, TINY.width, generator=torch.Generator().manual_seed(8))
    np.testing.assert_allclose(
        decoder(x)[0].numpy(), _by_the_book(decoder, x[0].double().numpy()), atol=1e-3, rtol=1e-3
    )


def test_decoder_equals_the_llama_model_of_transformers():
    transformers = pytest.importorskip("transformers")
    llama = transformers.LlamaModel(
        transformers.LlamaConfig(
            vocab_size=1,
            hidden_size=TINY.width,
            intermediate_size=TINY.mlp,
            num_hidden_layers=TINY.layers,
            num_attention_heads=TINY.heads,
            rms_norm_eps=TINY.epsilon,
            pad_token_id=None,
        )
    ).eval()
    decoder = _decoder()
    left = llama.load_state_dict(decoder.state_dict(), strict=False)
    assert left.unexpected_keys == [] and left.missing_keys == ["embed_tokens.weight"]
    x = torch.randn(2, TINY.context, TINY.width, generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        theirs = llama(inputs_embeds=x).last_hidden_state
    torch.testing.assert_close(decoder(x), theirs, atol=1e-4, rtol=1e-4)


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="multiple of twice"):
        DecoderConfig(width=36, heads=8)
    with pytest.raises(ValueError, match="at least 1"):
        DecoderConfig(context=0)


def test_a_token_is_image_then_goal_then_previous_action():
    network = make_network(images=False)
    projection = network.net.state_encoder.feats_proj
    projection.weight.data, projection.bias.data = (
        torch.eye(TINY.width, CONFIG.token),
        torch.zeros(TINY.width),
    )
    features, goals = torch.full((2, 12), 3.0), torch.full((2, 10), 5.0)
    token = network.net.tokens(features, goals, torch.tensor([NO_ACTION, 2]))[:, : CONFIG.token]
    rows = network.net.prev_action_embedding.weight[[0, 3]]
    assert torch.equal(token, torch.cat([features, goals, rows], -1))


def test_network_steps_equal_episodes():
    network, n, steps = make_network(images=False), 2, 15
    generator = torch.Generator().manual_seed(6)
    features = torch.randn(n, steps, CONFIG.image_features, generator=generator)
    goals = torch.randn(n, 1, CONFIG.goal_features, generator=generator).expand(-1, steps, -1)
    previous = torch.randint(-1, 6, (n, steps), generator=generator)
    logits, values = network(features, goals, previous)
    memory, robots = network.memory(n), torch.arange(n)
    for t in range(steps):
        one, value = network.step(features[:, t], goals[:, t], previous[:, t], memory, robots)
        torch.testing.assert_close(one, logits[:, t], atol=1e-3, rtol=1e-4)
        torch.testing.assert_close(value, values[:, t], atol=1e-3, rtol=1e-4)


def test_the_network_of_the_paper_has_its_size_and_takes_a_step():
    network = OvonNetwork().eval()
    config = network.config
    assert config.token == 1568
    # 4 (4 512^2 + 3 512 1024 + 2 512) + 512, projection, embedding, actor, critic.
    assert sum(p.numel() for p in network.parameters()) == 10_490_368 + 803_328 + 224 + 3_078 + 513
    memory = network.memory(3)
    assert memory.keys.shape == (4, 3, 8, 100, 64)
    with torch.inference_mode():
        logits, values = network.step(
            torch.zeros(2, 768), torch.zeros(2, 768), torch.tensor([-1, 5]), memory, torch.tensor([2, 0])
        )
    assert logits.shape == (2, 6) and values.shape == (2,)
    assert memory.steps.tolist() == [1, 0, 1]


# The policy


def _drive(policy: OvonPolicy, seed: int, steps: int = 25, team: tuple[int, ...] = (0, 1, 2)) -> np.ndarray:
    """(steps, robots of the team) actions, -1 for "arrived"."""
    policy.reset(3, np.random.default_rng(seed))
    done, previous = [], np.full(len(team), NO_ACTION)
    for t in range(steps):
        views = make_views(3, seed=100 + t)
        rows = list(team)
        moves = policy.act(rows, Views([views.goals[k] for k in rows], previous, views.rgb[rows]))
        assert (moves.actions[moves.arrived] == WAIT).all() and (moves.actions < len(MOVES)).all()
        previous = moves.actions
        done.append(np.where(moves.arrived, -1, moves.actions))
    return np.array(done)


def test_the_same_seed_gives_the_same_actions_and_another_seed_others():
    first = _drive(OvonPolicy(make_network()), seed=7)
    assert (first == _drive(OvonPolicy(make_network()), seed=7)).all()
    assert (first != _drive(OvonPolicy(make_network()), seed=8)).any()


def test_what_a_robot_draws_does_not_depend_on_who_else_acts():
    policy = OvonPolicy(make_network())
    assert (_drive(policy, seed=7)[:, 1:2] == _drive(policy, seed=7, team=(1,))).all()


def test_without_sampling_the_most_probable_action_is_taken_and_stop_is_handed_over():
    network = make_network()
    actor = network.action_distribution["linear"]
    actor.weight.data[:] = 0
    for number in range(6):
        actor.bias.data = torch.eye(6)[number]
        policy = OvonPolicy(network, sample=False)
        policy.reset(1, np.random.default_rng(0))
        moves = policy.act([0], make_views(1))
        assert moves.arrived.tolist() == [number == STOP]
        assert ACTIONS[moves.actions[0]] == ("wait" if number == STOP else OVON_ACTIONS[number])


def test_actions_are_drawn_as_often_as_the_policy_says():
    network = make_network()
    actor = network.action_distribution["linear"]
    actor.weight.data[:] = 0
    probabilities = np.array([0.05, 0.4, 0.25, 0.0, 0.2, 0.1])
    actor.bias.data = torch.from_numpy(np.log(probabilities + 1e-12)).float()
    policy, n = OvonPolicy(network), 500
    policy.reset(n, np.random.default_rng(3))
    views = make_views(1)
    many = Views(views.goals * n, np.full(n, 1), np.repeat(views.rgb, n, 0))
    drawn = np.concatenate([_numbers(policy.act(range(n), many)) for _ in range(4)])
    np.testing.assert_allclose(np.bincount(drawn, minlength=6) / len(drawn), probabilities, atol=0.05)
    assert (drawn != 3).all()


def _numbers(moves) -> np.ndarray:
    return np.where(moves.arrived, STOP, to_ovon(moves.actions))


def test_restart_forgets_one_robot_only():
    def values(restart: bool, fresh: bool = False) -> np.ndarray:
        policy = OvonPolicy(make_network())
        policy.reset(2, np.random.default_rng(0))
        for t in range(0 if fresh else 5):
            policy.act([0, 1], make_views(2, seed=t))
        if restart:
            policy.restart([1])
        policy.act([0, 1], make_views(2, seed=9))
        return policy.values

    kept, restarted, fresh = values(False), values(True), values(False, fresh=True)
    np.testing.assert_allclose(restarted[0], kept[0], atol=1e-4)
    np.testing.assert_allclose(restarted[1], fresh[1], atol=1e-4)
    assert abs(kept[1] - fresh[1]) > 1e-2


def test_all_inputs_of_a_step_matter():
    def value(views: Views) -> float:
        policy = OvonPolicy(make_network())
        policy.reset(1, np.random.default_rng(0))
        policy.act([0], make_views(1))
        policy.act([0], views)
        return float(policy.values[0])

    views = make_views(1)
    assert value(views) == value(make_views(1))
    for changed in (
        replace(views, rgb=255 - views.rgb),
        replace(views, goals=[-views.goals[0]]),
        replace(views, previous=np.array([2])),
        replace(views, previous=np.array([declare(1)])),
    ):
        assert abs(value(changed) - value(views)) > 1e-3
    # What cannot be told apart in OVON: waiting, declaring, nothing yet.
    assert value(replace(views, previous=np.array([WAIT]))) == value(
        replace(views, previous=np.array([NO_ACTION]))
    )


def test_the_first_step_of_a_task_has_no_previous_action():
    def value(previous: int) -> float:
        policy = OvonPolicy(make_network())
        policy.reset(1, np.random.default_rng(0))
        policy.act([0], make_views(1, previous=previous))
        return float(policy.values[0])

    assert value(2) == value(NO_ACTION)


def test_wrong_calls_are_refused():
    policy = OvonPolicy(make_network())
    policy.reset(2, np.random.default_rng(0))
    for robots in ([0, 2], [1, 1], [-1, 0]):
        with pytest.raises(ValueError, match="at most once, from 0 to 1"):
            policy.act(robots, make_views(2))
    with pytest.raises(ValueError, match="views have 2 rows"):
        policy.act([0], make_views(2))
    with pytest.raises(ValueError, match="no encoder"):
        policy.act([0], replace(make_views(1), goals=["chair"]))
    with pytest.raises(ValueError, match=r"takes \(10,\)"):
        policy.act([0], replace(make_views(1), goals=[np.zeros(9, np.float32)]))
    with pytest.raises(ValueError, match="at least one robot"):
        policy.reset(0, np.random.default_rng(0))
    assert policy.act([], make_views(0)).actions.shape == (0,)
    blind = OvonPolicy(make_network(images=False))
    blind.reset(1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="without an image tower"):
        blind.act([0], make_views(1))
