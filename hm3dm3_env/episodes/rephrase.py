"""Let a vision-language model rewrite the descriptions of a split, keeping only what still says the same.

    python -m hm3dm3_env.episodes.rephrase split=val vlm.base_url=http://127.0.0.1:8000/v1 vlm.model=...

Writes the split `out` ("<split>_rephrased") over the same scenes, with the same goals. A new text counts when
it states every predicate and mentions no other colour, material, room or thing; otherwise the model is told
why and asked once more, and then the old text stays. Predicates stay beside the text, a replaced text as
`template_text`. Scenes that are done are kept, so a killed run continues. Same answers, same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hm3dm3_env.cli import command
from hm3dm3_env.episodes.audit.paraphrase import Vocabulary, paraphrase_faults
from hm3dm3_env.episodes.describe import MAX_BYTES
from hm3dm3_env.episodes.schema import EpisodeError, load_split, read_content, read_header, read_json
from hm3dm3_env.episodes.target import target_folder
from hm3dm3_env.files import data_root, gzip_json_bytes, json_bytes, sha256, write_atomic
from hm3dm3_env.scenes.hm3dsem import load_scene
from hm3dm3_env.vlm.client import Vlm, message
from hm3dm3_env.vlm.config import NoFittingAnswer, VlmConfig

PROMPT = f"""You rewrite descriptions of objects in homes. A robot must find the object by your text alone.
- State every fact that is listed, each in the words that are given for it.
- State nothing else: no other colour, material, size, shape, room, object or place, and no "left" or "not".
- Write one or two plain English sentences, at most {MAX_BYTES} characters together, built in another way than
  the description that you get, as another person would say it.
Answer with a JSON object: {{"text": "..."}}"""
"""The instructions that the model gets (ours)."""
REVISION = 1
"""Goes up when the instructions or the rules for a new text change: what is there is then made again."""
SCHEMA = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1}},
    "additionalProperties": False,
}
"""Of an answer."""
TRIES = 2
"""Texts that the model may propose for a description (ours)."""
_WORDS = {"next_to": "it is next to", "on": "it is on", "room": "it is in", "size": "of its kind it is the"}


@dataclass(frozen=True)
class RephraseConfig:
    """Which split to rewrite, and by which model."""

    split: str = "val"
    out: str = ""
    """Name of the new split ("": <split>_rephrased)."""
    data: str = "data"
    """Root of scenes/ and episodes/ (HM3DM3_DATA overrides the default)."""
    parallel: int = 4
    """Requests at once; the result does not depend on it."""
    vlm: VlmConfig = field(default_factory=VlmConfig)

    def __post_init__(self) -> None:
        if self.parallel < 1:
            raise ValueError("rephrase: parallel must be at least 1")
        if self.out == self.split:
            raise ValueError(f"rephrase: out must not be the split itself ({self.split!r})")


@dataclass(frozen=True)
class Rewritten:
    """What came of a description: the new text, or None where the old one stays; why texts were refused."""

    text: str | None
    refused: tuple[str, ...] = ()


def rephrase(config: RephraseConfig) -> Path:
    """Rewrite a split and return the path of the new header.

    Raises:
        EpisodeError: a file of the split cannot be used, it has no episodes, or `out` is another split.
        VlmError: the model cannot be asked; scenes that are done stay, and the next run continues.
    """
    data, out = data_root(config.data), config.out or f"{config.split}_rephrased"
    header, source = read_header(data, config.split), data / "episodes" / config.split / "content"
    if not load_split(data, config.split):  # every file is good, or an error says which is not
        place = data / "episodes" / config.split / f"{config.split}.json.gz"
        raise EpisodeError(f"{place}: no episodes; generate the split again, or choose another split=")
    vlm, target = Vlm(config.vlm), target_folder(data, out, "rephrased")
    root = data / "scenes" / header["scenes_root"]
    count: Counter[str] = Counter()
    with tqdm(total=len(header["scenes"]), desc="rephrase", unit="scene") as bar:
        for scene in header["scenes"]:
            old, new = source / f"{scene}.json.gz", target / "content" / f"{scene}.json.gz"
            mark = sha256(json_bytes([REVISION, PROMPT, config.vlm.public(), sha256(old.read_bytes())]))
            made = _made(new, mark)
            if made is None:
                content = read_content(old, scene)
                made = _scene(content, _vocabulary(root / scene), vlm, config.parallel)
                write_atomic(new, gzip_json_bytes({**content, "rephrased": {"made_for": mark, **made}}))
            count.update(made)
            bar.update()
            bar.set_postfix(rewritten=count["rewritten"], kept=count["kept"])
    about = {"split": config.split, "vlm": config.vlm.public(), **_counts(count)}
    path = target / f"{out}.json.gz"
    write_atomic(path, gzip_json_bytes({**header, "split": out, "rephrased": about}))
    mine = {target / "content" / f"{scene}.json.gz" for scene in header["scenes"]}
    for left in set((target / "content").glob("*.json.gz")) - mine:
        left.unlink()  # of scenes that the split no longer has
    print(
        f"{count['rewritten']} descriptions rewritten, {count['kept']} kept as they were, "
        f"{count['refused']} proposals refused, {count['without predicates']} without predicates left alone"
    )
    print(f"{vlm.usage}\n{path}")
    return path


def _counts(count: Counter[str]) -> dict[str, int]:
    return {name: count[name] for name in ("rewritten", "kept", "refused", "without predicates")}


def _made(path: Path, mark: str) -> dict[str, int] | None:
    """The counts of a scene's file that was made for the same texts and model, or None."""
    try:
        made = read_json(path).get("rephrased")
    except EpisodeError:
        return None
    if not isinstance(made, dict) or made.get("made_for") != mark:
        return None
    return {k: v for k, v in made.items() if k != "made_for"}


def _vocabulary(folder: Path) -> Vocabulary:
    items = load_scene(folder).instances.values()
    stated = {value for item in items for value in (item.colour, item.material, item.room)}
    return Vocabulary.of({item.category for item in items}, stated)


def _scene(content: dict[str, Any], vocabulary: Vocabulary, vlm: Vlm, parallel: int) -> dict[str, int]:
    """Rewrite a content file's descriptions in place; returns what is counted."""
    goals = [goal for e in content["episodes"] for goal in e["goals"] if goal["modality"] == "TN"]
    stated = [goal for goal in goals if goal.get("predicates")]
    with ThreadPoolExecutor(parallel) as pool:
        texts, said = zip(*[(goal["text"], goal["predicates"]) for goal in stated]) if stated else ((), ())
        found = list(pool.map(lambda text, facts: rewrite(text, facts, vocabulary, vlm), texts, said))
    for goal, new in zip(stated, found):
        if new.text is not None:
            goal.setdefault("template_text", goal["text"])
            goal["text"] = new.text
    rewritten = sum(new.text is not None for new in found)
    return _counts(Counter({
        "rewritten": rewritten,
        "kept": len(found) - rewritten,
        "refused": sum(len(new.refused) for new in found),
        "without predicates": len(goals) - len(stated),
    }))


def rewrite(text: str, predicates: Sequence[Sequence[str]], vocabulary: Vocabulary, vlm: Vlm) -> Rewritten:
    """Ask for another text of a description, `TRIES` times at most.

    Raises:
        VlmError: the endpoint gives no answer.
    """
    said = [(kind, value) for kind, value in predicates]
    facts = "\n".join(f"- {_WORDS.get(kind, kind + ':')} {value}" for kind, value in said)
    chat = [message("system", PROMPT), message("user", f"Description: {text}\nFacts:\n{facts}")]
    refused: list[str] = []
    for _ in range(TRIES):
        try:
            proposed = " ".join(vlm.ask(chat, SCHEMA)["text"].split())
        except NoFittingAnswer as error:
            return Rewritten(None, (*refused, str(error)))
        faults = paraphrase_faults(proposed, said, vocabulary)
        if proposed == text:
            faults = ["it is the description as it was"]
        if not faults:
            return Rewritten(proposed, tuple(refused))
        refused.append("; ".join(faults))
        chat = [
            *chat,
            message("assistant", json_bytes({"text": proposed}).decode().strip()),
            message("user", f"That text is refused: {refused[-1]}. Write another one."),
        ]
    return Rewritten(None, tuple(refused))


main = command(RephraseConfig, "rephrase", rephrase)

if __name__ == "__main__":
    main()
