"""docs/core-ml-supported.md: what the fixtures are the proof of."""
import json

from .harness import ROOT

PAGE = ROOT.parents[2] / "docs" / "core-ml-supported.md"
TITLES = {"networks": "Neural networks", "programs": "ML Programs", "classical": "Classical models and pipelines"}


def write():
    text = (
        "# What is supported of Core ML\n\n"
        "Made by `scripts/make-coreml-fixtures` from the fixtures of `Tests/Fixtures/coreml`: each name has at least one file whose\n"
        "answers another program computed, and a test that compares them. [core-ml.md](core-ml.md) has the rest.\n"
    )
    for folder, title in TITLES.items():
        files = sorted((ROOT / folder).glob("*.json"))
        if not files:
            continue
        covers = sorted({cover for file in files for cover in json.loads(file.read_text())["covers"]})
        text += f"\n## {title}\n\n" + "".join(f"- {cover}\n" for cover in covers)
    PAGE.write_text(text)
