"""Builds a Kustomization as `kubectl kustomize` does, as far as deploy/ uses it: what else stands in one is an error.

Resources (files and folders), labels, images, and patches by strategic merge with a target.
"""

import copy

import files

# Lists that are merged entry by entry, and by which key (the API's patchMergeKey); all others are replaced.
MERGE_KEYS = {
    "containers": "name", "initContainers": "name", "volumes": "name", "env": "name", "volumeMounts": "mountPath",
    "topologySpreadConstraints": "topologyKey",
}
KNOWN = {"apiVersion", "kind", "resources", "labels", "images", "patches"}


def build(folder, texts):
    """The resources of the Kustomization in a folder."""
    path = folder / "kustomization.yaml"
    name = path.relative_to(files.DEPLOY)
    (document,) = texts.documents(path)
    check(document, name)
    resources = []
    for entry in document.get("resources", []):
        place = (folder / entry).resolve()
        if place.is_dir():
            resources += build(place, texts)
        elif place.is_file():
            resources += texts.documents(place)
        else:
            raise files.Problem(f"{name}: resources: {entry} does not exist")
    for patch in document.get("patches", []):
        apply(patch, resources, name)
    for label in document.get("labels", []):
        for resource in resources:
            resource["metadata"].setdefault("labels", {}).update(label["pairs"])
    for image in document.get("images", []):
        if not sum(rename(container, image) for resource in resources for container in containers(resource)):
            raise files.Problem(f"{name}: images: no container has the image \"{image['name']}\"")
    return resources


def check(document, name):
    """Only what this builds."""
    expected = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    for key, value in expected.items():
        if document.get(key) != value:
            raise files.Problem(f"{name}: {key}: expected {value}, found {document.get(key)}")
    shapes = [("", document, KNOWN)]
    shapes += [("labels: ", entry, {"pairs"}) for entry in document.get("labels", [])]
    shapes += [("images: ", entry, {"name", "newName", "newTag", "digest"}) for entry in document.get("images", [])]
    for entry in document.get("patches", []):
        shapes += [("patches: ", entry, {"target", "patch"})]
        shapes += [("patches: target: ", entry.get("target", {}), {"group", "version", "kind", "name"})]
    for where, entry, known in shapes:
        for key in entry:
            if key not in known:
                raise files.Problem(f"{name}: {where}unknown key \"{key}\"; expected one of {', '.join(sorted(known))}")
    for entry in document.get("labels", []):
        if "pairs" not in entry:
            raise files.Problem(f"{name}: labels: pairs is missing")
    for entry in document.get("images", []):
        if "name" not in entry or len(entry) < 2:
            raise files.Problem(f"{name}: images: expected a name, and what replaces it")
    for entry in document.get("patches", []):
        if set(entry) != {"target", "patch"} or not {"kind", "name"} <= set(entry["target"]):
            raise files.Problem(f"{name}: patches: expected a target with kind and name, and a patch")


def apply(patch, resources, name):
    target = patch["target"]
    (change,) = files.load(patch["patch"], f"{name}: patch")
    hits = [
        resource for resource in resources
        if resource["kind"] == target["kind"] and resource["metadata"]["name"] == target["name"]]
    if not hits:
        raise files.Problem(f"{name}: patches: there is no {target['kind']} \"{target['name']}\"")
    for key in ("apiVersion", "kind"):
        if change.get(key) != hits[0][key]:
            raise files.Problem(f"{name}: patch: {key}: expected {hits[0][key]}, found {change.get(key)}")
    if change.get("metadata") != {"name": target["name"]}:
        raise files.Problem(f"{name}: patch: metadata: expected the name {target['name']}, found {change.get('metadata')}")
    for resource in hits:
        if change.get("$patch") == "delete":
            resources.remove(resource)
        else:
            merge(resource, change, name)


def merge(base, change, name):
    """A strategic merge: null removes, lists with a merge key are merged by it."""
    for key, value in change.items():
        if key == "$patch":
            raise files.Problem(f"{name}: patch: $patch: {value} is not supported here")
        if value is None:
            if key not in base:
                raise files.Problem(f"{name}: patch: {key}: null removes nothing")
            del base[key]
        elif isinstance(value, dict) and isinstance(base.get(key), dict):
            merge(base[key], value, name)
        elif isinstance(value, list) and key in MERGE_KEYS:
            merge_list(base.setdefault(key, []), value, MERGE_KEYS[key], f"{name}: patch: {key}")
        else:
            base[key] = copy.deepcopy(value)


def merge_list(base, change, merge_key, name):
    for entry in change:
        if merge_key not in entry:
            raise files.Problem(f"{name}: an entry has no {merge_key}")
        old = next((candidate for candidate in base if candidate.get(merge_key) == entry[merge_key]), None)
        if entry.get("$patch") == "delete":
            if old is None:
                raise files.Problem(f"{name}: there is no {entry[merge_key]} to delete")
            base.remove(old)
        elif old is None:
            # New entries come first, as kustomize has them.
            base.insert(0, copy.deepcopy(entry))
        else:
            merge(old, entry, name)


def pod(resource):
    """The PodSpec of a resource that has one."""
    if resource.get("kind") in ("ClusterServingRuntime", "ServingRuntime"):
        return resource.get("spec")
    return resource.get("spec", {}).get("template", {}).get("spec") if resource.get("kind") in ("Deployment", "Job") else None


def containers(resource):
    spec = pod(resource) or {}
    return spec.get("initContainers", []) + spec.get("containers", [])


def rename(container, image):
    """Whether the container has the image, which is then another."""
    name, _, tag = container.get("image", "").partition(":")
    if name != image["name"]:
        return False
    tag = image.get("newTag", tag)
    container["image"] = image.get("newName", name) + (f":{tag}" if tag else "")
    return True
