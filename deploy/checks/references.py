"""What schemas cannot see: names that must agree between resources, and numbers that must fit together."""

import re

import daemon_arguments
import files
import kustomize

# Annotations and labels are free text to Kubernetes: those that mean something here, and their values.
ANNOTATIONS = {
    "serving.kserve.io/deploymentMode": {"Standard", "Knative"},
    "serving.kserve.io/autoscalerClass": {"hpa", "keda", "external", "none"},
    "serving.kserve.io/enable-prometheus-scraping": {"true", "false"},
    "prometheus.kserve.io/port": None,
    "prometheus.kserve.io/path": {"/metrics"},
}
LABELS = {"app.kubernetes.io/name", "kubernetes.io/metadata.name"}
PROBE_PATHS = {"/healthz", "/readyz", "/v2/models/{{.Name}}/ready"}


def metrics():
    """The names of all metrics: the page that a test of the daemon compares."""
    text = (files.ROOT / "Tests/Fixtures/metrics.txt").read_text()
    return set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))


def keys_named(value, wanted):
    """All values of a key, however deep."""
    if isinstance(value, dict):
        for key, entry in value.items():
            if key == wanted:
                yield entry
            yield from keys_named(entry, wanted)
    elif isinstance(value, list):
        for entry in value:
            yield from keys_named(entry, wanted)


def title(resource):
    return f"{resource.get('kind')} {resource.get('metadata', {}).get('name')}"


def names(resources):
    """Problems of resources that are applied together, each with the resource that has it."""
    for resource in resources:
        for problem in [*_free_text(resource), *_queries(resource), *_pod(resource)]:
            yield f"{title(resource)}: {problem}"
    deployments = [resource for resource in resources if resource["kind"] == "Deployment"]
    for deployment in deployments:
        if deployment["spec"]["selector"]["matchLabels"] != deployment["spec"]["template"]["metadata"]["labels"]:
            yield f"{title(deployment)}: the selector and the labels of the template differ"
    for resource in resources:
        for problem in _targets(resource, deployments):
            yield f"{title(resource)}: {problem}"


def _free_text(resource):
    for found in keys_named(resource, "annotations"):
        for name, value in found.items():
            if name not in ANNOTATIONS:
                yield f"unknown annotation \"{name}\""
            elif ANNOTATIONS[name] and value not in ANNOTATIONS[name]:
                yield f"{name}: expected one of {', '.join(sorted(ANNOTATIONS[name]))}, found \"{value}\""
    for kind in ("labels", "matchLabels"):
        for found in keys_named(resource, kind):
            for name in found:
                if name not in LABELS:
                    yield f"unknown label \"{name}\""


def _queries(resource):
    for query in keys_named(resource, "query"):
        wanted = re.findall(r"\b(ocelli_\w+)", query)
        if not wanted:
            yield "the query names no metric of the daemon"
        for name in wanted:
            if name not in metrics():
                yield f"the query asks for {name}, which the daemon does not have"
        namespace = resource.get("metadata", {}).get("namespace", "default")
        for name, selector in re.findall(r"\b(ocelli_\w+)(\{[^}]*\})?", query):
            if f'namespace="{namespace}"' not in selector:
                yield f"the query takes {name} of every namespace: expected namespace=\"{namespace}\" in its selector"


def jobs(monitors):
    """What alerts miss of the jobs that are scraped: "ocelli" by Prometheus' own configuration, NAMESPACE/NAME by a PodMonitor."""
    text = (files.ROOT / "config/alerts.yaml").read_text()
    names = ["ocelli", *(f"anywhere/{name}" for name in monitors)]
    for operator, value in re.findall(r"\bjob(=~?)\"([^\"]*)\"", text):
        for name in names:
            if not (re.fullmatch(value, name) if operator == "=~" else value == name):
                yield f"job{operator}\"{value}\" does not match the job \"{name}\""


def _targets(resource, deployments):
    """What selects pods, or scales a Deployment."""
    kind, spec = resource["kind"], resource.get("spec", {})
    if kind in ("HorizontalPodAutoscaler", "ScaledObject"):
        target = spec.get("scaleTargetRef", {}).get("name")
        if target not in [deployment["metadata"]["name"] for deployment in deployments]:
            yield f"scales the Deployment \"{target}\", which is not there"
        for deployment in deployments:
            if deployment["metadata"]["name"] == target and "replicas" in deployment["spec"]:
                yield f"scales the Deployment \"{target}\", whose replicas each apply would set to {deployment['spec']['replicas']}"
    if kind == "NetworkPolicy":
        for rule in spec.get("ingress", []):
            if not rule.get("from"):
                yield "a rule for ingress has no from: it admits the whole world, not only the cluster"
    selectors = {
        "Service": spec.get("selector"), "PodMonitor": spec.get("selector", {}).get("matchLabels"),
        "PodDisruptionBudget": spec.get("selector", {}).get("matchLabels"),
        "NetworkPolicy": spec.get("podSelector", {}).get("matchLabels"),
    } if kind in ("Service", "PodMonitor", "PodDisruptionBudget", "NetworkPolicy") else {}
    if kind not in selectors:
        return
    pods = [
        deployment for deployment in deployments if selectors[kind]
        and selectors[kind].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()]
    if not pods:
        yield "selects no pod"
        return
    ports = {port["name"] for pod in pods for container in kustomize.containers(pod) for port in container.get("ports", [])}
    wanted = {
        "Service": [port.get("targetPort") for port in spec.get("ports", [])],
        "PodMonitor": [endpoint.get("port") for endpoint in spec.get("podMetricsEndpoints", [])],
        "NetworkPolicy": [port.get("port") for rule in spec.get("ingress", []) for port in rule.get("ports", [])],
    }.get(kind, [])
    for port in wanted:
        if port not in ports:
            yield f"the port \"{port}\" is not one of a container: {', '.join(sorted(ports))}"


def _pod(resource):
    """A pod's volumes, ports, probes, what it may do, and the time that it has to end."""
    spec = kustomize.pod(resource)
    if not spec:
        return
    volumes = {volume["name"] for volume in spec.get("volumes", [])}
    mounted = set()
    for container in kustomize.containers(resource):
        for mount in container.get("volumeMounts", []):
            mounted.add(mount.get("name"))
            if mount.get("name") not in volumes:
                yield f"the volume \"{mount.get('name')}\" is mounted and not there"
        yield from _container(container, spec, resource["kind"])
    for name in sorted(volumes - mounted):
        yield f"the volume \"{name}\" is not mounted"
    for volume in spec.get("volumes", []):
        if len(volume) != 2:
            yield f"the volume \"{volume.get('name')}\" has {len(volume) - 1} sources"


def _container(container, spec, kind):
    ports = {str(port.get("name")): port["containerPort"] for port in container.get("ports", [])}
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        probe = container.get(name, {}).get("httpGet")
        if probe:
            if probe.get("path") not in PROBE_PATHS:
                yield f"{name}: {probe.get('path')} is not one of {', '.join(sorted(PROBE_PATHS))}"
            if str(probe.get("port")) not in ports and probe.get("port") not in ports.values():
                yield f"{name}: the port \"{probe.get('port')}\" is not one of the container"
    # Pod Security Standards, "restricted".
    own, pods = container.get("securityContext", {}), spec.get("securityContext", {})
    restricted = {
        "runAsNonRoot": own.get("runAsNonRoot", pods.get("runAsNonRoot")) is True,
        "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is False,
        "readOnlyRootFilesystem": own.get("readOnlyRootFilesystem") is True,
        "capabilities": own.get("capabilities", {}).get("drop") == ["ALL"],
        "seccompProfile": own.get("seccompProfile", pods.get("seccompProfile", {})).get("type") == "RuntimeDefault",
    }
    for name, fulfilled in restricted.items():
        if not fulfilled:
            yield f"{container['name']}: {name} is not as the restricted policy asks"
    for name in ("requests", "limits"):
        if not {"cpu", "memory"} <= set(container.get("resources", {}).get(name, {})):
            yield f"{container['name']}: resources.{name}: cpu or memory is missing"
    if "serve" in container.get("args", []):
        yield from _serving(container, spec, ports)


def _serving(container, spec, ports):
    arguments = container["args"]
    for name in ("startupProbe", "readinessProbe", "livenessProbe", "ports"):
        if not container.get(name):
            yield f"{container['name']}: {name} is missing"
    listened = {int(match[1]) for argument in arguments if (match := re.match(r"--listen=[^?]*:(\d+)(?:\?.*)?$", argument))}
    for name, port in ports.items():
        if port not in listened:
            yield f"the port {name} ({port}) is not listened on: {sorted(listened)}"
    grace = next((entry.get("value") for entry in container.get("env", []) if entry.get("name") == "OCELLI_GRACE"), None)
    if grace is None:
        yield f"{container['name']}: OCELLI_GRACE is not set"
        return
    stated = spec.get("terminationGracePeriodSeconds", 30)
    if daemon_arguments.seconds(grace) != stated:
        yield f"OCELLI_GRACE is {grace}, terminationGracePeriodSeconds {stated}"
    yield from drain(arguments, stated)
    for path in paths(arguments):
        if not any(path == mount["mountPath"] or path.startswith(mount["mountPath"] + "/")
                   for mount in container.get("volumeMounts", [])) and not path.startswith("/mnt/models"):
            yield f"{path} is not on a volume"


def paths(arguments):
    """The folders that the arguments name."""
    found = [daemon_arguments.value(arguments, flag) for flag in ("--models", "--cache-dir", "--model")]
    # A model is NAME=PATH.
    return [path.rpartition("=")[2] for path in found if path]


def drain(arguments, grace):
    """The drain must end before the process is killed."""
    delay = daemon_arguments.seconds(daemon_arguments.value(arguments, "--drain-delay") or "0s")
    timeout = daemon_arguments.seconds(daemon_arguments.value(arguments, "--drain-timeout") or "30s")
    if delay + timeout >= grace:
        yield f"drain-delay and drain-timeout are {delay + timeout:g} s together: more than leaves time in {grace:g} s"
