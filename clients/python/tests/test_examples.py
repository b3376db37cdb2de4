"""The examples in the package's documentation, and its types."""
import asyncio
import doctest
import importlib
import importlib.util
import os
import pkgutil
import subprocess
import sys
import tempfile
import unittest

import support
from support import PROGRAM, ROOT

import ocelli


class ExampleTests(unittest.TestCase):
    def test_every_example_gives_what_it_says(self):
        os.chdir(ROOT)
        with support.daemon(
                "--models=models", "--model=case00=Tests/Fixtures/detectors/case00", "--model=embedder=Tests/Fixtures/observations/embedder",
                "--default-model=digits") as url:
            tried = 0
            for module in pkgutil.iter_modules(ocelli.__path__):
                if module.name in ("__main__", "_keeper") or module.name == "stores" and importlib.util.find_spec("fsspec") is None:
                    continue
                found = importlib.import_module(f"ocelli.{module.name}")
                names = {**vars(found), "URL": url, "PROGRAM": PROGRAM, "asyncio": asyncio}
                results = doctest.testmod(found, globs=names, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
                self.assertEqual(results.failed, 0, module.name)
                tried += results.attempted
            self.assertGreater(tried, 25)

    @unittest.skipIf(importlib.util.find_spec("mypy") is None, "mypy is not installed")
    def test_types_are_strict_in_the_package_and_in_programs_that_use_it(self):
        program = """
import ocelli

with ocelli.Client("http://127.0.0.1:8080") as client:
    label: str = client.classify("cat.jpg").classifications[0].label
    names: list[str] = ["a.jpg", "b.jpg"]
    for result in client.classify(names, top=3):
        if isinstance(result, ocelli.OcelliError):
            print(result.code, result.retry_after)
        else:
            print(result.classifications[0].confidence + 1)
    mask = client.detect(b"").detections[0].mask
    if mask is not None:
        print(mask.sum())
"""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "program.py")
            with open(file, "w", encoding="utf-8") as text:
                text.write(program)
            package = ROOT / "clients/python"
            run = subprocess.run(
                [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir", folder, "src/ocelli", file],
                cwd=package, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(package / "src")})
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
