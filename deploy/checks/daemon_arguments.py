"""The daemon's arguments in manifests: every flag is one that `ocelli` has, and every value one that it takes."""

import os
import re
import subprocess

import files

BINARY = os.environ.get("TEST_BINARY") or str(files.ROOT / ".build/release/ocelli")
# Of their own, beside the settings: `ocelli help COMMAND` tells.
COMMANDS = ("serve", "classify", "ready")

LISTEN = re.compile(r"--listen=:\d{2,5}(\?routes=(infer|read|admin)(,(infer|read|admin))*)?")


def has_binary():
    return os.access(BINARY, os.X_OK)


def _run(arguments):
    variables = {name: value for name, value in os.environ.items() if not name.startswith("OCELLI_")}
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, env=variables, timeout=60)


class Known:
    """What `ocelli help` says: names of settings, and the flags of commands."""

    def __init__(self):
        if has_binary():
            text = _run(["help", "settings"]).stdout
            self.source = "`ocelli help settings`"
        else:
            # The same text: a test of the program compares them.
            text = (files.ROOT / "docs/settings.md").read_text()
            self.source = "docs/settings.md"
        self.settings = set(re.findall(r"^\| `([a-z_0-9]+)`", text, re.MULTILINE))
        if len(self.settings) < 20:
            raise SystemExit(f"{self.source} lists {len(self.settings)} settings: its form has changed, and this script must follow")
        self.flags = {}
        self.judged = {}
        for command in COMMANDS:
            text = _run(["help", command]).stdout if has_binary() else ""
            self.flags[command] = set(re.findall(r"(--[a-z][a-z-]*)", text))

    def problem(self, arguments, placeholder="cats"):
        """What is wrong with the arguments of a container whose entrypoint is `ocelli`; None where nothing is."""
        if not arguments or arguments[0] not in COMMANDS:
            return f"args: expected one of {', '.join(COMMANDS)} first, found {arguments[:1]}"
        command, settings = arguments[0], []
        for argument in arguments[1:]:
            if not argument.startswith("--"):
                if command == "serve":
                    return f"args: \"{argument}\" is not expected: write a flag and its value as one, --flag=value"
                continue
            flag, equals, _ = argument.partition("=")
            name = flag[2:].replace("-", "_")
            if name in self.settings and flag == "--" + name.replace("_", "-"):
                if not equals:
                    return f"args: {flag} has no value"
                # `ocelli limits` opens no addresses, and does not read them.
                if flag == "--listen" and not LISTEN.fullmatch(argument):
                    return f"args: {argument}: expected :PORT, or :PORT?routes= with infer, read, admin"
                settings.append(argument.replace("{{.Name}}", placeholder))
            elif not has_binary() or flag not in self.flags[command]:
                if has_binary() or command == "serve":
                    return f"args: {flag} is not a setting of {self.source}, nor a flag of `ocelli {command}`"
        return self.values(settings)

    def values(self, settings):
        """What the program itself says of the values: `ocelli limits` reads all settings and starts nothing."""
        if not has_binary():
            return None
        key = tuple(settings)
        if key not in self.judged:
            run = _run(["limits", *settings])
            self.judged[key] = None if run.returncode == 0 else "args: " + " ".join(run.stderr.split())[:300]
        return self.judged[key]


def seconds(text):
    """A time of a setting in seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)?", text)
    if not match:
        raise files.Problem(f"expected a time such as 30s, found \"{text}\"")
    return float(match[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600, None: 1}[match[2]]


def value(arguments, flag):
    """The value of a flag; None where it is not there."""
    return next((argument.partition("=")[2] for argument in arguments if argument.startswith(flag + "=")), None)
