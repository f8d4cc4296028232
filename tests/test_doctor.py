"""The doctor says what works here and what does not, whatever it is given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hm3dm3_env.sim import doctor


def test_the_embedded_simulator_works_everywhere() -> None:
    said: list[str] = []
    findings = doctor.examine(say=said.append)
    assert [f.works for f in findings if "embedded" in f.what] == [True, True]
    assert len(said) == len(findings) == 5
    worker = next(f for f in findings if "worker" in f.what)
    assert "100.0% of object ids agree" in worker.found
    assert all(f.works is None or f.works or f.advice for f in findings)


def test_what_habitat_lacks_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho WindowlessApplication: cannot get a context\nkill -ABRT $$\n")
    broken.chmod(0o755)
    findings = doctor.examine(python=str(broken), say=lambda text: None)
    last = findings[-1]
    assert last.works is False and "SIGABRT" in last.found and "cannot get a context" in last.found
    assert "Mesa" in last.advice


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["nonsense=1"], 2), (["gpu_device=x"], 2)])
def test_usage(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(arguments) == code
    assert "python -m hm3dm3_env.sim.doctor" in capsys.readouterr().out


def test_the_egl_check_cannot_end_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_EGL", "import os; os.abort()")
    found = doctor._egl()
    assert found.works is False and "crashes" in found.found


def test_conda_environments_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert doctor._conda_environments() == []
    inside = tmp_path / "envs" / "habitat" / "lib" / "python3.9" / "site-packages" / "habitat_sim"
    inside.mkdir(parents=True)
    (tmp_path / ".conda").mkdir()
    lines = f"{tmp_path / 'envs' / 'habitat'}\n{tmp_path / 'envs' / 'other'}\n"
    (tmp_path / ".conda" / "environments.txt").write_text(lines)
    assert doctor._conda_environments() == [str(tmp_path / "envs" / "habitat" / "bin" / "python")]


def test_an_interpreter_without_habitat(monkeypatch: pytest.MonkeyPatch) -> None:
    if subprocess.run([sys.executable, "-c", "import habitat_sim"], capture_output=True).returncode == 0:
        pytest.skip("this interpreter has habitat-sim")
    last = doctor.examine(python=sys.executable, say=lambda text: None)[-1]
    assert last.works is False and "habitat_sim" in last.found
