"""Plants typos in the files of deploy/, one at a time, in memory: the check must find each of them."""

import re

import daemon_arguments
import files
import schemas
import services

# Names that a file gives, and nothing refers to.
FREE = {("compose.yaml", "proxyx:")}
KEY = re.compile(r"^(\s*(?:- )?)(\"?[A-Za-z$@][\w./@$-]*\"?)(:(?:\s|$).*)$")


def planted(path, text):
    """(line number, what was planted, text) for every key, argument and directive of a file."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if line.lstrip().startswith("#"):
            continue
        made = None
        if path.suffix == ".container":
            made = re.sub(r"^(\w+)=", r"\1x=", line) if "=" in line else re.sub(r"\]$", "x]", line)
        elif path.suffix == ".cfg":
            made = re.sub(r"^(\s*)([a-z-]+)", r"\1\2x", line)
        elif match := re.match(r"^(\s*- )--([a-z-]+)(=.*)?$", line):
            made = f"{match[1]}--{match[2]}x{match[3] or ''}"
        elif match := KEY.match(line):
            key = match[2]
            made = match[1] + (key[:-1] + 'x"' if key.endswith('"') else key + "x") + match[3]
        if made and made != line:
            yield index + 1, made.strip(), "\n".join([*lines[:index], made, *lines[index + 1 :]]) + "\n"


def reason_not_to_check(path):
    """Why a typo in this file need not be found here; None where it must be."""
    if path.name == "envoy.yaml" and not services.envoy_binary():
        return "Envoy is not installed"
    if path.suffix == ".cfg" and not services.haproxy_binary():
        return "HAProxy is not installed"
    if path.parent.name == "kserve" and not schemas.has_kserve():
        return "KServe's definitions are not there"
    if path.name == "spark.yaml" and not schemas.has_spark():
        return "kubeflow-spark-api is not installed"
    return None


def run(check):
    """0 where each planted typo was found."""
    missed, count = [], 0
    for path in files.Files.all():
        name = path.relative_to(files.DEPLOY)
        if reason := reason_not_to_check(path):
            print(f"check-deploy: self-test: {name}: {reason}")
            continue
        tried = 0
        for line, what, text in planted(path, path.read_text()):
            if (path.name, what) in FREE:
                continue
            tried += 1
            if not check.problems(files.Files({path: text})):
                missed.append(f"{name}:{line}: {what}")
        count += tried
        if not tried:
            missed.append(f"{name}: nothing to plant a typo in")
    for line in missed:
        print(f"check-deploy: self-test: not found: {line}")
    if not daemon_arguments.has_binary():
        print("check-deploy: self-test: without the program, values of settings are not tried")
    print(f"check-deploy: self-test: {count - len(missed)} of {count} typos found")
    return 1 if missed else 0
