"""schemathesis against a running service: no 5xx, no undocumented status, no body that breaks its schema."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import PATIENCE, binary

HERE = Path(__file__).parent


def test_no_answer_leaves_the_document(tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "FLYDOCS_DATA_DIR": str(tmp_path / "data"),
        "FLYDOCS_API_KEYS": "fuzz-key",
        "FLYDOCS_LOG": "error",
        # thousands of small requests: a process for each file would only cost time
        "FLYDOCS_ISOLATION": "none",
        "FLYDOCS_BBOX_REFINE_OCR_ENGINE": "none",
    }
    server = subprocess.Popen(
        [binary(), "up", "--port", "0"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert url.startswith("http://"), url
        more = os.environ.get("FLYDOCS_TEST_EXAMPLES")
        fuzz = subprocess.run(
            [
                str(Path(sys.executable).parent / "schemathesis"),
                "--config-file",
                str(HERE / "schemathesis.toml"),
                "run",
                f"{url}/openapi.json",
                "--header",
                "Authorization: Bearer fuzz-key",
                "--no-color",
                *(["--max-examples", more] if more else []),
            ],
            cwd=tmp_path,
            env={**os.environ, "NO_PROXY": "*", "COLUMNS": "120"},
            capture_output=True,
            text=True,
        )
        print(fuzz.stdout[-20000:])
        assert server.poll() is None, "the service ended"
        assert fuzz.returncode == 0, fuzz.stderr[-2000:]
    finally:
        server.terminate()
        server.wait(PATIENCE)
