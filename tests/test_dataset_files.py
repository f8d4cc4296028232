"""Data sets that were changed, left unfinished, or are written by two runs: one clear error, or the same
bytes."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from higa import checkpoint
from higa.features import FeatureConfig
from higa.network import Assigner, AssignerConfig
from hm3dm3_env.cli import build
from hm3dm3_env.episodes.schema import read_json
from hm3dm3_env.files import gzip_json_bytes
from tests.processes import files_below
from train import dataset
from train.bc import BcConfig, clone
from train.collect import MixtureConfig
from train.dagger import DaggerConfig, dagger
from train.dataset import DatasetConfig, collect
from train.draw import InspectConfig, draw_samples
from train.samples import open_samples
from train.shards import ShardError, only_run, read_table, shard_files, whole_files
from train.trainer import TrainConfig


@pytest.fixture
def mine(samples: Path, tmp_path: Path) -> Path:
    """A copy of `samples` that may be damaged."""
    return Path(shutil.copytree(samples, tmp_path / "mine"))


def damage(path: Path) -> None:
    """One other byte in the middle, as a bad disk leaves it: Parquet alone need not notice."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def edit(path: Path, change: Callable[[Any], None]) -> None:
    value = json.loads(path.read_bytes())
    change(value)
    path.write_text(json.dumps(value))


def test_a_shard_with_another_byte(mine: Path, samples: Path, collect_config: DatasetConfig) -> None:
    bad = shard_files(mine)[1]
    damage(bad)
    words = r"part-00001\.parquet: sha256.*changed or damaged; delete it and run train\.dataset"
    for use in (
        lambda: open_samples(mine),
        lambda: draw_samples(InspectConfig(str(mine), str(mine / "look"))),
        lambda: collect(replace(collect_config, out=str(mine))),
    ):
        with pytest.raises(ShardError, match=words):
            use()
    bad.unlink()
    collect(replace(collect_config, out=str(mine)))  # the advice helps
    assert files_below(mine) == files_below(samples)


def test_shards_and_manifest_must_agree(mine: Path, collect_config: DatasetConfig) -> None:
    last = shard_files(mine)[-1]
    extra = last.with_name("part-00099.parquet")
    shutil.copy(last, extra)
    with pytest.raises(
        ShardError, match=r"part-00099\.parquet: not listed.*has not finished.*train\.dataset"
    ):
        open_samples(mine)
    extra.unlink()
    last.unlink()
    with pytest.raises(ShardError, match=rf"{last.name}: listed in .*info\.json, but missing"):
        open_samples(mine)
    (mine / "meta" / "info.json").unlink()
    with pytest.raises(ShardError, match=r"info\.json: no such file: the collection has not finished"):
        open_samples(mine)
    shutil.rmtree(mine / "meta")
    assert open_samples(mine).scenes.size  # shards alone, without a manifest
    with pytest.raises(ShardError, match=r"round-00\.json: no such file, but .* holds shards"):
        collect(replace(collect_config, out=str(mine)))


def test_later_rounds_do_not_matter_to_earlier_ones(mine: Path) -> None:
    """A killed DAgger round leaves shards that the manifest does not list."""
    started = mine / "data" / "round=01" / "part-00000.parquet"
    started.parent.mkdir()
    shutil.copy(shard_files(mine)[0], started)
    copied = mine / "data" / "round=00 (copy)"  # as file managers name it: no round
    shutil.copytree(mine / "data" / "round=00", copied)
    assert len(open_samples(mine, last_round=0)) and copied not in {p.parent for p in shard_files(mine)}
    with pytest.raises(ShardError, match=r"round=01.*not listed"):
        whole_files(mine)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "not a manifest"),
        (b"[]", "not a manifest"),
        (b'{"schema_version": 2}', "'shards'"),
        (b'{"schema_version": 2, "shards": [{"file": 3, "sha256": ""}]}', "file and sha256"),
        (b'{"schema_version": 99, "shards": []}', "schema version 99"),
    ],
)
def test_bad_manifests(content: bytes, words: str, mine: Path, collect_config: DatasetConfig) -> None:
    (mine / "meta" / "info.json").write_bytes(content)
    for use in (lambda: open_samples(mine), lambda: collect(replace(collect_config, out=str(mine)))):
        with pytest.raises(ShardError, match=rf"info\.json: .*{words}"):
            use()


def test_a_split_that_was_generated_again(
    mine: Path, samples: Path, collect_config: DatasetConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, before = replace(collect_config, out=str(mine)), files_below(mine)
    edit(mine / "meta" / "round-00.json", lambda value: value.update(episodes="0" * 64))
    with pytest.raises(ShardError, match=r"episodes: .*\(the split was generated again\).*delete .*round=00"):
        collect(config)
    edit(mine / "meta" / "round-00.json", lambda value: value.update(seed=7, gone=1))
    with pytest.raises(ShardError, match=r"round-00\.json: episodes, gone, seed: .*other settings;"):
        collect(config)
    assert {k: v for k, v in files_below(mine).items() if "round-00" not in k} == {
        k: v for k, v in before.items() if "round-00" not in k
    }
    shutil.rmtree(mine / "data" / "round=00")
    collect(config)  # the advice helps
    assert files_below(mine) == files_below(samples)


def test_one_run_at_a_time(mine: Path, samples: Path, collect_config: DatasetConfig) -> None:
    with only_run(mine), pytest.raises(ShardError, match=r"mine: another run is collecting into it.*out="):
        collect(replace(collect_config, out=str(mine)))
    half = mine / "data" / "round=00" / ".part-00001.parquet.123.tmp"  # of a killed run
    half.write_bytes(b"half")
    collect(replace(collect_config, out=str(mine)))
    assert files_below(mine) == files_below(samples) and not half.exists()


def test_a_place_that_is_a_file(collect_config: DatasetConfig, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ShardError, match=r"file.*cannot be made.*out="):
            collect(replace(collect_config, out=str(out)))


def test_a_full_disk(collect_config: DatasetConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "full"
    with monkeypatch.context() as patch:
        patch.setattr(dataset, "write_shard", full)
        with pytest.raises(ShardError, match=r"full: No space left.*make room, or use another out="):
            collect(replace(collect_config, size=1, limit=1, out=str(out)))
    collect(replace(collect_config, size=1, limit=1, out=str(out)))
    assert len(open_samples(out))


def test_an_empty_split(
    collect_config: DatasetConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "load_split", lambda *_: [])
    with pytest.raises(ShardError, match=r"rooms\.json\.gz: no episodes; generate"):
        collect(replace(collect_config, out=str(tmp_path / "none")))
    assert not (tmp_path / "none").exists()


def test_goals_that_nobody_can_reach(collect_config: DatasetConfig, tmp_path: Path) -> None:
    """No assignment is better than another then: nothing is learned from such an episode."""
    shutil.copytree(collect_config.data, tmp_path / "data")
    for path in (tmp_path / "data" / "episodes" / "rooms" / "content").iterdir():
        value = read_json(path)
        for start in value["episodes"][2]["starts"]:
            start["position"][1] += 50
        path.write_bytes(gzip_json_bytes(value))
    config = replace(collect_config, data=str(tmp_path / "data"), out=str(tmp_path / "set"), size=1, limit=4)
    rows = [row for path in shard_files(collect(config)) for row in read_table(path).to_pylist()]
    assert rows and "rooms-00002" not in {row["episode"] for row in rows}
    assert all(np.isfinite(row["oracle_makespan"]) for row in rows)


def test_the_digest_covers_all_inputs(samples: Path) -> None:
    """Training resumes by it: a change of any array that the network gets, or of a label, is another run."""
    seen = {open_samples(samples).digest()}
    for name in ("grid", "heat", "agents", "goals", "pairs", "active", "open", "label"):
        read = open_samples(samples)
        first = read.arrays[name][0].reshape(-1)
        first[0] = first[0] == 0
        seen.add(read.digest())
    assert len(seen) == 9
    read = open_samples(samples)
    assert read.subset(np.arange(len(read))[::-1]).digest() not in seen


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MixtureConfig(oracle=-0.1), r"mixture\.oracle=-0\.1"),
        (lambda: MixtureConfig(0.9, 0.2), r"mixture\.oracle=0\.9, mixture\.random=0\.2"),
        (lambda: MixtureConfig(oracle=float("nan")), r"mixture\.oracle=nan"),
        (lambda: MixtureConfig(snapshots=-1), r"mixture\.snapshots=-1"),
        (lambda: DatasetConfig(features=FeatureConfig(grid=0)), r"features\.grid=0"),
        (lambda: DatasetConfig(features=FeatureConfig(cell=0.0)), r"features\.cell=0\.0"),
        (lambda: TrainConfig(threads=0), r"train\.threads=0"),
        (lambda: TrainConfig(batch=-4), r"train\.batch=-4"),
        (lambda: TrainConfig(seed=-1), r"train\.seed=-1"),
        (lambda: TrainConfig(lr=0.0), r"train\.lr=0\.0"),
        (lambda: TrainConfig(weight_decay=-1.0), r"train\.weight_decay=-1\.0"),
        (lambda: TrainConfig(held_out=0.9), r"train\.held_out=0\.9: must lie between 0 and 0\.5"),
        (lambda: TrainConfig(network=AssignerConfig(layers=0)), r"train\.network\.layers=0"),
        (lambda: TrainConfig(network=AssignerConfig(width=64, heads=7)), r"heads=7: must divide .*width=64"),
        (lambda: TrainConfig(network=AssignerConfig(patch=5)), r"patch=5: must divide .*grid=32"),
        (lambda: DaggerConfig(rounds=0), "rounds=0"),
        (lambda: DaggerConfig(samples=-1), "samples=-1"),
        (lambda: DaggerConfig(oracle_share=()), r"oracle_share=\[\]"),
        (lambda: DaggerConfig(oracle_share=(0.3, 2.0)), r"oracle_share=\[0\.3, 2\.0\]"),
        (lambda: draw_samples(InspectConfig(seed=-1)), "seed: -1"),
    ],
)
def test_numbers_that_cannot_be(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_grids_that_do_not_fit_the_network(
    samples: Path, collect_config: DatasetConfig, tmp_path: Path
) -> None:
    small = AssignerConfig(width=8, layers=1, heads=1, mlp=8, grid=16)
    with pytest.raises(ValueError, match=r"train\.network\.grid=16: .* 32 cells a side; give .*grid=32"):
        clone(BcConfig(str(samples), str(tmp_path / "bc.pt"), TrainConfig(network=small)))
    checkpoint.save(tmp_path / "small.pt", Assigner(small), {})
    learner = replace(collect_config, out=str(tmp_path / "set"), checkpoint=str(tmp_path / "small.pt"))
    with pytest.raises(ValueError, match=r"features\.grid=32: .*small\.pt wants 16; give features\.grid=16"):
        collect(learner)
    assert not (tmp_path / "set").exists()


def test_a_checkpoint_cannot_be_a_folder(samples: Path, tmp_path: Path) -> None:
    """It is said before the training, not after."""
    (tmp_path / "file").write_bytes(b"")
    for out, words in (
        (tmp_path, "is a folder; give the file"),
        (tmp_path / "file" / "x.pt", "cannot be made"),
    ):
        with pytest.raises(ValueError, match=words):
            clone(BcConfig(str(samples), str(out)))
        with pytest.raises(ValueError, match=words):
            dagger(DaggerConfig(out=str(out)))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_defaults_can_be() -> None:
    for schema in (DatasetConfig, DaggerConfig, TrainConfig):
        assert isinstance(build(schema), schema)
