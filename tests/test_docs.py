"""The README tells the truth: its commands exist, and public names are documented."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("hm3dm3_env", "policies", "higa", "train", "eval")
FLOOR = {"hm3dm3_env": 1, "policies": 2, "higa": 3, "train": 4, "eval": 4}


def _sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def test_modules_of_the_readme_exist():
    modules = set(re.findall(r"python -m ([\w.]+)", (ROOT / "README.md").read_text()))
    assert {"eval.benchmark", "train.dagger", "hm3dm3_env.episodes.generate"} <= modules
    for module in modules:
        assert importlib.util.find_spec(module) is not None, module


def test_files_that_the_readme_links_exist():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("path", _sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_public_names_have_docstrings(path):
    tree = ast.parse(path.read_text())
    missing = []
    if path.name != "__init__.py" and ast.get_docstring(tree) is None:
        missing.append("module")
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            if ast.get_docstring(node) is None:
                missing.append(node.name)
    assert not missing, missing


@pytest.mark.parametrize("path", _sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_downwards(path):
    own = path.relative_to(ROOT).parts[0]
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
        for name in names:
            other = name.split(".")[0]
            assert not (other in FLOOR and other != own and FLOOR[other] >= FLOOR[own]), (
                f"{path}: imports {name}"
            )
            assert not (own == "hm3dm3_env" and other == "torch"), f"{path}: imports torch"
