"""What the families share: where files go, how answers are written, random numbers that are the same each time."""
import json
import pathlib
import shutil
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3] / "Tests" / "Fixtures" / "coreml"


def value(given):
    """An input or an answer as the JSON file holds it: arrays with their shape, all else as it is."""
    if isinstance(given, np.ndarray):
        # Nine digits tell any two floats apart.
        return {"shape": list(given.shape), "values": [float(f"{number:.9g}") for number in given.astype(np.float64).ravel()]}
    if isinstance(given, np.generic):
        return given.item()
    return given


def random(name: str) -> np.random.Generator:
    """Numbers that depend on nothing but the fixture's name."""
    return np.random.default_rng(zlib.crc32(name.encode()))


class Fixtures:
    """The fixtures of one family, in a folder of their own that is emptied first."""

    def __init__(self, family: str):
        self.folder = ROOT / family
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.names = set()
        self.size = 0

    def add(self, name, model, cases, covers, tolerance=1e-4, oracle="numpy"):
        """Writes NAME.mlmodel (or NAME.mlpackage) and NAME.json.

        model: a spec (saved as it is), or anything with save(path); covers: layers, operations or model types that the fixture
        is the proof of; cases: pairs of inputs and answers by feature name; oracle: what computed the answers.
        """
        assert name not in self.names, name
        self.names.add(name)
        if hasattr(model, "SerializeToString"):
            path = self.folder / f"{name}.mlmodel"
            path.write_bytes(model.SerializeToString(deterministic=True))
        else:
            path = self.folder / f"{name}.mlpackage"
            model.save(str(path))
        text = json.dumps(
            {
                "covers": covers,
                "oracle": oracle,
                "tolerance": tolerance,
                "cases": [
                    {
                        "inputs": {key: value(given) for key, given in inputs.items()},
                        "outputs": {key: value(given) for key, given in outputs.items()},
                    }
                    for inputs, outputs in cases
                ],
            }
        )
        (self.folder / f"{name}.json").write_text(text + "\n")
        files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files)
        self.size += size
        if size > 10_000:
            print(f"{self.folder.name}/{name}: {size} bytes")

    def finish(self):
        print(f"{self.folder.name}: {len(self.names)} files, {self.size} bytes")
