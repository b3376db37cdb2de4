"""The files under deploy/: read strictly, and replaceable in memory, so that planted mistakes need no copy of the folder."""

import pathlib

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


class Problem(Exception):
    """What is wrong with a file, with the place."""


class StrictLoader(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error, as it is to Kubernetes' strict decoding."""


def _mapping(loader, node, deep=False):
    seen = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise Problem(f"line {key_node.start_mark.line + 1}: the key \"{key}\" stands twice")
        seen.add(key)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


class Files:
    """deploy/ as text: the files themselves, but for those that `changed` has another text of."""

    def __init__(self, changed=None):
        self.changed = changed or {}

    def text(self, path):
        path = pathlib.Path(path).resolve()
        return self.changed[path] if path in self.changed else path.read_text()

    def documents(self, path):
        """The YAML documents of a file."""
        return load(self.text(path), pathlib.Path(path).resolve().relative_to(DEPLOY))

    @staticmethod
    def all():
        """Every file that is shipped, sorted."""
        return sorted(path for path in DEPLOY.rglob("*") if path.is_file() and DEPLOY / "checks" not in path.parents)


def load(text, name):
    """The YAML documents of a text; `name` is for the message."""
    try:
        found = [document for document in yaml.load_all(text, Loader=StrictLoader) if document is not None]
    except yaml.YAMLError as error:
        raise Problem(f"{name}: {' '.join(str(error).split())}") from None
    except Problem as problem:
        raise Problem(f"{name}: {problem}") from None
    for document in found:
        if not isinstance(document, dict):
            raise Problem(f"{name}: expected a mapping, found {type(document).__name__}")
    return found
