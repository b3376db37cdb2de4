"""docs/operators.md: who serves each operator, and why; written from results, and read back to check that it is true."""

import collections
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/operators.md"
ENGINES = {"openvino": "OpenVINO", "onnxruntime": "ONNX Runtime", "litert": "LiteRT"}
RUNTIMES = {"ONNX": "ONNX Runtime", "TF Lite": "LiteRT"}
# What a reason of the daemon says, in the words of the table. Numbers and names differ from case to case.
REASONS = [
    (r"cannot (?:read|compile)|could not (?:read|compile)", "OpenVINO does not read it"),
    (r"has shape .* instead of", "OpenVINO gives another shape"),
    (r"another direction|has \S+ instead of \S+|computes it wrongly", "OpenVINO gives other values"),
    (r"refuses|does not take", "OpenVINO does not take its inputs"),
    (r"rounds dynamically", "OpenVINO rounds otherwise"),
    (r"crash|was ended|takes too long", "OpenVINO crashes"),
]
HEAD = """# Operators

Written by `Tests/Operators/check-operators --write`, which serves a small model of each operator of the two schemas that pictures use.
Each answer was right by programs that share no code with Ocelli: ONNX's reference evaluator, ONNX Runtime, LiteRT and formulas.
[The engines](operations.md#the-engines) explains how an engine is chosen.

- A row has the cases of an operator and a type with the same outcome. "the others" are the cases of the operator and the type that no other row lists.
- "(fixed)" and "(open)" limit a case to files with fixed or with open axes.
- "largest difference" is that of OpenVINO's answers from the other engine's at load, as a fraction of the output's range.

"""


def outcome(case, result):
    """The engine that serves the case with the reason that it is not the first one, that its answers are confirmed, or why they are not;
    or that it is refused, and when."""
    if result.refusal:
        return "refused", "at load" if result.refusal[0] == "load" else "at the request"
    engine = result.listing.get("engine", {})
    name = ENGINES.get(engine.get("name"), str(engine.get("name")))
    if reason := engine.get("reason"):
        return name, next((words for pattern, words in REASONS if re.search(pattern, reason, re.S)), shortened(reason))
    if engine.get("confirmed_by"):
        return name, f"confirmed by {RUNTIMES[case.format]}"
    return name, f"not confirmed: {shortened(engine.get('unconfirmed') or 'without a reason')}"


def shortened(reason):
    """A reason without what differs from case to case: numbers, names of tensors, texts of engines."""
    return re.sub(r"\s+", " ", re.sub(r"[\d.]*\d", "N", re.sub(r'"[^"]*"', "…", reason.split(": ")[0])))[:80].strip()


def written(outcomes):
    """The page's text for {case: (outcome, largest difference)} of all cases."""
    text = HEAD
    for form, title in (("ONNX", "ONNX"), ("TF Lite", "TensorFlow Lite")):
        text += f"## {title}\n\n| operator | type | run on | because | cases | largest difference |\n| --- | --- | --- | --- | --- | --- |\n"
        groups = collections.defaultdict(lambda: collections.defaultdict(list))
        for case in outcomes:
            if case.format == form:
                groups[case.operator, case.types][outcomes[case][0]].append(case)
        for (operator, types), rows in sorted(groups.items()):
            everything = [case for cases in rows.values() for case in cases]
            order = sorted(rows, key=lambda row: (-len(rows[row]), row))
            for row in order:
                first = row == order[0]
                cell = f"{'the others' if len(order) > 1 else 'all'} ({len(rows[row])})" if first else f"`{'; '.join(labels(rows[row], everything))}`"
                far = max((outcomes[case][1] for case in rows[row] if outcomes[case][1] is not None), default=None)
                text += f"| {operator} | {types} | {row[0]} | {row[1]} | {cell} | {'–' if far is None else '0' if far == 0 else f'{far:.0e}'} |\n"
        text += "\n"
    return text + disputes(outcomes)


def labels(cases, everything):
    """The variants of cases, with their axes where not all cases of a variant are among them."""
    kinds = collections.defaultdict(set)
    for case in cases:
        kinds[case.variant].add(kind(case))
    whole = collections.defaultdict(set)
    for case in everything:
        whole[case.variant].add(kind(case))
    found = []
    for variant in sorted(kinds):
        found += [variant] if kinds[variant] == whole[variant] else [f"{variant} ({each})" for each in sorted(kinds[variant])]
    return found


def kind(case):
    return "fixed" if case.axes == "fixed" else "open"


def disputes(outcomes):
    """The cases on which the independent programs disagree."""
    text = "## Cases on which programs disagree\n\n| format | operator | cases | right | reason |\n| --- | --- | --- | --- | --- |\n"
    rows = collections.defaultdict(list)
    for case in outcomes:
        if case.right and case.dispute() > 1:
            rows[case.format, case.operator, case.right].append(case)
    for (form, operator, (program, reason)), cases in sorted(rows.items(), key=lambda item: (item[0][0], item[0][1], str(item[0][2]))):
        names = sorted({f"{case.variant}" for case in cases})
        text += f"| {form} | {operator} | `{'; '.join(names)}` | {program or 'either'} | {reason} |\n"
    return text


def read(text):
    """The outcomes that a page states: a function from a case to its outcome, or None if the page has no row for it."""
    listed, rest = {}, {}
    form = None
    for line in text.splitlines():
        if line.startswith("## "):
            form = {"## ONNX": "ONNX", "## TensorFlow Lite": "TF Lite"}.get(line)
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not form or not line.startswith("|") or len(cells) != 6 or cells[0] in ("operator", "---"):
            continue
        operator, types, engine, because, names, _ = cells
        if names.startswith("`"):
            for name in names.strip("`").split("; "):
                listed[form, operator, types, name] = engine, because
        else:
            rest[form, operator, types] = engine, because

    def stated(case):
        key = case.format, case.operator, case.types
        for name in (f"{case.variant} ({kind(case)})", case.variant):
            if (*key, name) in listed:
                return listed[*key, name]
        return rest.get(key)

    return stated
