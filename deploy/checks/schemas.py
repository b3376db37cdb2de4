"""Schemas, applied strictly: a key that a schema does not name is an error, as a typo is.

Kubernetes' own kinds by kubernetes-validate, KServe's by its custom resource definitions, compose.yaml by compose-spec's schema.
What belongs to operators whose definitions are not at hand is compared with the keys of their documentation.
"""

import functools
import importlib.util
import json
import pathlib

import check_jsonschema
import jsonschema
import kubernetes_validate
import referencing
from kubernetes_validate import utils

import files

# "../shared/data" beside the project.
KSERVE = files.ROOT.parent / "shared/data/kserve"


def releases():
    """The Kubernetes that manifests are for: 1.35, and the newest that kubernetes-validate knows."""
    newest = utils.major_minor(kubernetes_validate.latest_version())
    return ["1.35"] + ([newest] if newest != "1.35" else [])


@functools.lru_cache
def _definitions(release):
    return referencing.Resource.from_contents(_schema(release, "_definitions")) @ referencing.Registry()


def _schema(release, name):
    return utils.schema_contents(f"kubernetes-json-schema/v{release}.0-local-strict/{name}.json", release)


@functools.lru_cache
def _kubernetes(release, kind, version):
    """A validator, kept: kubernetes_validate.validate() reads megabytes of JSON each time. None for an unknown kind."""
    group, slash, rest = version.partition("/")
    name = f"{kind.lower()}-{group.split('.')[0]}{'-' + rest if slash else ''}"
    try:
        return jsonschema.Draft202012Validator(_schema(release, name), registry=_definitions(release))
    except FileNotFoundError:
        return None


def place(error):
    return ".".join(str(part) for part in error.absolute_path) or "(top)"


def first(validator, document):
    """The deepest reason why a document does not fit; None where it does."""
    errors = sorted(validator.iter_errors(document), key=lambda error: error.path)
    if not errors:
        return None
    error = jsonschema.exceptions.best_match(errors)
    return f"{place(error)}: {error.message[:300]}"


def kubernetes(resource, release):
    """Why one of Kubernetes' own kinds is not valid; None where it is."""
    validator = _kubernetes(release, str(resource.get("kind")), str(resource.get("apiVersion")))
    if validator is None:
        return f"Kubernetes {release} has no {resource.get('kind')} of {resource.get('apiVersion')}"
    problem = first(validator, resource)
    return f"Kubernetes {release}: {problem}" if problem else None


@functools.lru_cache
def _compose():
    text = (pathlib.Path(check_jsonschema.__file__).parent / "builtin_schemas/vendor/compose-spec.json").read_text()
    return jsonschema.validators.validator_for(json.loads(text))(json.loads(text))


def compose(document):
    return first(_compose(), document)


# KServe's definitions.

KSERVE_FILES = {
    "ClusterServingRuntime": "clusterservingruntimes.crd.yaml", "ServingRuntime": "servingruntimes.crd.yaml",
    "InferenceService": "inferenceservices.crd.yaml",
}


def has_kserve():
    return KSERVE.is_dir()


def strict(schema):
    """A CRD's schema, in which what is not named is refused: the API server prunes it without a word."""
    if isinstance(schema, list):
        return [strict(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) if key != "enum" else value for key, value in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("anyOf", None)
        made["type"] = ["integer", "string"]
    if isinstance(schema.get("properties"), dict):
        made["properties"] = {name: strict(value) for name, value in schema["properties"].items()}
        if "additionalProperties" not in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
            made["additionalProperties"] = False
    if schema.get("nullable") and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    return made


@functools.lru_cache
def _kserve(kind, version):
    (definition,) = files.load((KSERVE / KSERVE_FILES[kind]).read_text(), KSERVE_FILES[kind])
    found = [entry for entry in definition["spec"]["versions"] if entry["name"] == version]
    if not found:
        return None
    return jsonschema.Draft202012Validator(strict(found[0]["schema"]["openAPIV3Schema"]))


def kserve(resource):
    """Why one of KServe's kinds is not valid; None where it is."""
    group, _, version = resource["apiVersion"].partition("/")
    if group != "serving.kserve.io":
        return f"apiVersion: expected serving.kserve.io, found {group}"
    validator = _kserve(resource["kind"], version)
    return first(validator, resource) if validator else f"apiVersion: {resource['kind']} has no version {version}"


# Spark's operator publishes its kinds as a Python package.

# The settings of Spark that deploy/ uses: the operator takes any name.
_SPARK_SETTINGS = {"spark.sql.execution.arrow.maxRecordsPerBatch", "spark.decommission.enabled", "spark.task.maxFailures"}


def has_spark():
    return importlib.util.find_spec("kubeflow_spark_api") is not None


def spark(resource):
    """Why a SparkApplication is not valid; None where it is."""
    from kubeflow_spark_api import models

    if resource["apiVersion"] != "sparkoperator.k8s.io/v1beta2":
        return f"apiVersion: expected sparkoperator.k8s.io/v1beta2, found {resource['apiVersion']}"
    try:
        kept = models.SparkV1beta2SparkApplication.from_dict(resource).to_dict()
    except ValueError as error:
        return " ".join(str(error).split())[:300]
    if unknown := set(resource["spec"].get("sparkConf", {})) - _SPARK_SETTINGS:
        return f"spec.sparkConf: {sorted(unknown)[0]} is not a setting that is known here"
    # What it does not know it leaves out.
    return _left_out(resource, kept, "")


def _left_out(value, kept, where):
    if isinstance(value, dict) and isinstance(kept, dict):
        for key, inner in value.items():
            if key not in kept:
                return f"{where}{key}: there is no such key"
            if problem := _left_out(inner, kept[key], f"{where}{key}."):
                return problem
    if isinstance(value, list) and isinstance(kept, list):
        return next((found for pair in zip(value, kept) if (found := _left_out(*pair, where))), None)
    return None


# Kinds of operators, as far as deploy/ uses them: (apiVersion, what an object may have). A dictionary is an object, a list of one
# a list of such objects, None anything.

_SELECTOR = {"matchLabels": None, "matchExpressions": None}
_ENDPOINT = dict.fromkeys(
    ["port", "portNumber", "targetPort", "path", "scheme", "params", "interval", "scrapeTimeout", "tlsConfig", "honorLabels",
     "honorTimestamps", "basicAuth", "oauth2", "authorization", "metricRelabelings", "relabelings", "proxyUrl", "followRedirects",
     "enableHttp2", "filterRunning", "trackTimestampsStaleness"])
_PROMETHEUS_TRIGGER = dict.fromkeys(
    ["serverAddress", "query", "threshold", "activationThreshold", "namespace", "cortexOrgID", "customHeaders", "ignoreNullValues",
     "queryParameters", "unsafeSsl", "authModes", "timeout"])
OPERATORS = {
    "PodMonitor": ("monitoring.coreos.com/v1", {
        "selector": _SELECTOR, "podMetricsEndpoints": [_ENDPOINT], "namespaceSelector": {"any": None, "matchNames": None},
        "jobLabel": None, "podTargetLabels": None, "sampleLimit": None, "targetLimit": None, "attachMetadata": None}),
    "ScaledObject": ("keda.sh/v1alpha1", {
        "scaleTargetRef": dict.fromkeys(["apiVersion", "kind", "name", "envSourceContainerName"]),
        "minReplicaCount": None, "maxReplicaCount": None, "idleReplicaCount": None, "cooldownPeriod": None,
        "initialCooldownPeriod": None, "pollingInterval": None, "advanced": None,
        "fallback": dict.fromkeys(["failureThreshold", "replicas", "behavior"]),
        "triggers": [{
            "type": None, "name": None, "metricType": None, "useCachedMetrics": None, "authenticationRef": None,
            "metadata": _PROMETHEUS_TRIGGER}]}),
}
# What must be there for it to do anything.
REQUIRED = {
    "PodMonitor": [("selector", "matchLabels"), ("podMetricsEndpoints", 0, "port"), ("podMetricsEndpoints", 0, "path")],
    "ScaledObject": [
        ("scaleTargetRef", "name"), ("minReplicaCount",), ("maxReplicaCount",), ("triggers", 0, "type"),
        ("triggers", 0, "metadata", "serverAddress"), ("triggers", 0, "metadata", "query"),
        ("triggers", 0, "metadata", "threshold")],
}


def _unknown(value, shape, where):
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{where}: expected a list"
        return next((found for i, entry in enumerate(value) if (found := _unknown(entry, shape[0], f"{where}.{i}"))), None)
    if not isinstance(shape, dict):
        return None
    if not isinstance(value, dict):
        return f"{where}: expected an object"
    for key, entry in value.items():
        if key not in shape:
            return f"{where}: unknown key \"{key}\""
        if found := _unknown(entry, shape[key], f"{where}.{key}"):
            return found
    return None


def operator(resource):
    """Why an operator's kind is not what its documentation says; None where it is."""
    version, shape = OPERATORS[resource["kind"]]
    if resource["apiVersion"] != version:
        return f"apiVersion: expected {version}, found {resource['apiVersion']}"
    top = {"apiVersion": None, "kind": None, "metadata": None, "spec": shape}
    if found := _unknown(resource, top, resource["kind"]):
        return found
    for path in REQUIRED[resource["kind"]]:
        value = resource.get("spec", {})
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return f"spec.{'.'.join(map(str, path))} is missing"
    return None


METADATA = {"name", "namespace", "labels", "annotations"}


def metadata(resource):
    """Schemas of custom resources leave metadata open."""
    found = resource.get("metadata")
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        return "metadata.name is missing"
    return next((f"metadata: unknown key \"{key}\"" for key in found if key not in METADATA), None)
