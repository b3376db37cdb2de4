"""Checks every file under deploy/: see deploy/checks/check-deploy."""

import argparse
import json
import re
import shutil
import subprocess
import sys

import daemon_arguments
import files
import kustomize
import references
import schemas
import services

KUBERNETES = files.DEPLOY / "kubernetes"


class Check:
    """All checks on a set of files; what was right is remembered, so that a planted mistake costs only what it touches."""

    def __init__(self):
        self.known = daemon_arguments.Known()
        self.judged = {}

    def problems(self, texts):
        """Every problem, as a text with its file."""
        found = []
        for path in files.Files.all():
            name = str(path.relative_to(files.DEPLOY))
            found += [f"{name}: {problem}" for problem in self.once(name, texts.text(path), lambda: self.file(path, texts))]
        for path in sorted((files.ROOT / "systemd").glob("*.service")):
            found += [f"systemd/{path.name}: {problem}" for problem in services.restarts(path.read_text())]
        found += [f"config/alerts.yaml: {problem}" for problem in references.jobs(self.monitors(texts))]
        for folder in self.kustomizations():
            name = str(folder.relative_to(files.DEPLOY))
            try:
                resources = kustomize.build(folder, texts)
                found += [f"{name}: {problem}" for problem in self.resources(resources)]
            except files.Problem as problem:
                found.append(f"{name}: {problem}")
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                found.append(f"{name}: its shape is not that of such resources ({type(error).__name__}: {error})")
        return list(dict.fromkeys(found))

    def once(self, name, text, judge):
        """What a judge says of a text; asked once."""
        key = (name, text)
        if key not in self.judged:
            try:
                self.judged[key] = list(judge())
            except files.Problem as problem:
                self.judged[key] = [str(problem)]
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                self.judged[key] = [f"its shape is not that of such a file ({type(error).__name__}: {error})"]
        return self.judged[key]

    @staticmethod
    def kustomizations():
        return [path.parent for path in files.Files.all() if path.name == "kustomization.yaml"]

    @staticmethod
    def monitors(texts):
        """The names of all PodMonitors."""
        found = []
        for path in files.Files.all():
            if path.suffix == ".yaml" and "kubernetes" in path.parts and path.name != "kustomization.yaml":
                try:
                    documents = texts.documents(path)
                except files.Problem:
                    continue  # reported where the file is checked
                found += [
                    name for entry in documents if isinstance(entry, dict) and entry.get("kind") == "PodMonitor"
                    and (name := (entry.get("metadata") or {}).get("name"))]
        return found

    def file(self, path, texts):
        """Problems of one file by itself."""
        name = path.relative_to(files.DEPLOY)
        if path.name == "kustomization.yaml":
            return  # built below, with what it names
        if path.suffix == ".container":
            yield from self.quadlet(path, texts)
        elif path.name == "compose.yaml":
            yield from self.compose(path, texts)
        elif path.name == "envoy.yaml":
            texts.documents(path)
            if services.envoy_binary() and (problem := services.envoy(texts.text(path))):
                yield problem
        elif path.suffix == ".cfg":
            if services.haproxy_binary() and (problem := services.haproxy(texts.text(path))):
                yield problem
        elif path.suffix in (".yaml", ".yml"):
            for resource in texts.documents(path):
                yield from self.resource(resource)
            # What is in the base refers to its neighbours, and is checked with them.
            if path.parent.name in ("kserve", "bulk"):
                yield from references.names(texts.documents(path))
        else:
            yield f"{name}: nothing here checks such a file"

    def resource(self, resource):
        """Problems of one resource by its schema, and of its arguments."""
        kind = resource.get("kind")
        if kind in schemas.KSERVE_FILES:
            judges = [schemas.kserve] if schemas.has_kserve() else []
        elif kind == "SparkApplication":
            judges = [schemas.spark] if schemas.has_spark() else []
        elif kind in schemas.OPERATORS:
            judges = [schemas.operator]
        else:
            judges = [lambda found, release=release: schemas.kubernetes(found, release) for release in schemas.releases()]
        for judge in [schemas.metadata, *judges]:
            if problem := judge(resource):
                yield f"{kind}: {problem}"
        for container in kustomize.containers(resource):
            if container.get("args") and "command" not in container and (problem := self.known.problem(container["args"])):
                yield f"{kind}: {container.get('name')}: {problem}"

    def resources(self, resources):
        """Problems of resources that are applied together."""
        key = json.dumps(resources, sort_keys=True)
        if key not in self.judged:
            found = []
            for resource in resources:
                text = json.dumps(resource, sort_keys=True)
                if text not in self.judged:
                    self.judged[text] = list(self.resource(resource))
                found += self.judged[text]
            self.judged[key] = found + list(references.names(resources))
        return self.judged[key]

    def quadlet(self, path, texts):
        found = services.quadlet(texts.text(path))
        if problem := services.quadlet_by_podman(path.name, texts.text(path)):
            yield f"podman: {problem}"
        arguments = services.arguments(found)
        if problem := self.known.problem(arguments):
            yield problem
        yield from services.restarts(texts.text(path))
        stop = next((value for _, key, value in found if key == "StopTimeout"), "10")
        yield from references.drain(arguments, float(stop))
        yield from self.probe(next((value for _, key, value in found if key == "HealthCmd"), ""), json.loads)

    def compose(self, path, texts):
        (document,) = texts.documents(path)
        if problem := schemas.compose(document):
            yield problem
            return
        for name, service in document["services"].items():
            if not service["image"].startswith("ocelli:"):
                continue
            if problem := self.known.problem(service["command"]):
                yield f"{name}: {problem}"
            grace = daemon_arguments.seconds(service["stop_grace_period"])
            if daemon_arguments.seconds(service["environment"]["OCELLI_GRACE"]) != grace:
                yield f"{name}: OCELLI_GRACE and stop_grace_period differ"
            yield from references.drain(service["command"], grace)
            # What each may take: without limits each counts the whole host as its own.
            limits = service["deploy"].get("resources", {}).get("limits", {})
            if service["deploy"].get("replicas", 1) > 1 and not {"cpus", "memory"} <= set(limits):
                yield f"{name}: several replicas on one host without deploy.resources.limits.cpus and .memory"
            yield from self.probe(service["healthcheck"]["test"], lambda words: words[1:] if words[0] == "CMD" else [])
        for service in document["services"].values():
            for needed in service.get("depends_on", {}):
                if needed not in document["services"]:
                    yield f"depends_on: there is no service {needed}"
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                if source.startswith("./") and not (path.parent / source).exists():
                    yield f"volumes: {source} is not there"
                if source[0] not in "./$" and source not in document.get("volumes", {}):
                    yield f"volumes: {source} is not declared"

    def probe(self, words, read):
        """A probe's command: the image has no shell, and nothing but `ocelli`."""
        try:
            command = read(words)
        except ValueError:
            command = []
        if command[:2] != ["ocelli", "ready"]:
            yield f"the health check is not a list that begins with ocelli, ready: {words}"


def kustomize_command():
    """The real Kustomize, where one is installed that knows `labels` (version 5); None where not."""
    if shutil.which("kustomize"):
        run = subprocess.run(["kustomize", "version"], capture_output=True, text=True, timeout=60)
        command, version = ["kustomize", "build"], re.search(r"v(\d+)\.", run.stdout)
    elif shutil.which("kubectl"):
        run = subprocess.run(["kubectl", "version", "--client", "--output=json"], capture_output=True, text=True, timeout=60)
        command, version = ["kubectl", "kustomize"], re.search(r'"kustomizeVersion": "v(\d+)\.', run.stdout)
    else:
        return None
    return command if version and int(version[1]) >= 5 else None


def compare(texts):
    """Problems of this folder's own Kustomize against the real one, where that is installed."""
    real = kustomize_command()
    if not real:
        return []
    found = []
    for folder in Check.kustomizations():
        run = subprocess.run([*real, str(folder)], capture_output=True, text=True, timeout=60)
        if run.returncode:
            found.append(f"{folder.name}: {real[0]}: {run.stderr.strip()}")
            continue
        key = lambda resource: (resource["kind"], resource["metadata"]["name"])
        theirs = sorted(files.load(run.stdout, real[0]), key=key)
        if theirs != sorted(kustomize.build(folder, texts), key=key):
            found.append(f"{folder.name}: {' '.join(real)} builds something else than this script")
    return found


def skipped():
    """What cannot be checked here, and why."""
    if not schemas.has_kserve():
        yield f"KServe's definitions are not there ({schemas.KSERVE}): kserve/ is not compared with them"
    if not daemon_arguments.has_binary():
        yield f"{daemon_arguments.BINARY} is not built: names of settings are checked by docs/settings.md, values are not"
    if not services.envoy_binary():
        yield "Envoy is not installed: envoy.yaml is only read as YAML"
    if not services.haproxy_binary():
        yield "HAProxy is not installed: haproxy.cfg is not checked"
    if not services.has_generator():
        yield "podman's generator is not installed: quadlet files are compared with the keys of its manual"
    if not kustomize_command():
        yield "neither kustomize nor kubectl of a version with kustomize 5 is installed: the overlays are built by this script alone"


def main():
    parser = argparse.ArgumentParser(prog="deploy/checks/check-deploy", description=__doc__)
    parser.add_argument("--self-test", action="store_true", help="plant a typo in every key of every file: each must be found")
    arguments = parser.parse_args()
    check, texts = Check(), files.Files()
    problems = check.problems(texts) + compare(texts)
    for line in skipped():
        print(f"check-deploy: {line}")
    for problem in problems:
        print(f"check-deploy: {problem}", file=sys.stderr)
    if problems:
        return 1
    print(f"check-deploy: {len(files.Files.all())} files are valid; Kubernetes {' and '.join(schemas.releases())}")
    if arguments.self_test:
        import selftest
        return selftest.run(check)
    return 0


if __name__ == "__main__":
    sys.exit(main())
