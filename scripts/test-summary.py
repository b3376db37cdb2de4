"""The summary that scripts/test prints last: which tests were slow, which were skipped and the command that makes them run, and then, where
something failed, what and why.

usage: test-summary.py RESULTS STATUS BUILT TESTED
       RESULTS: the folder with each lane's .xml and .log; STATUS: what the lanes ended with; BUILT, TESTED: seconds of the build and
       of the tests

The failures come last because the end of a long log is what people, and machines that keep only a part of it, look at. Their
names go into RESULTS/failed, one a line, as `scripts/test` takes them; there is no such file where a lane did not come to its end.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

results, status = pathlib.Path(sys.argv[1]), int(sys.argv[2])
built, tested = map(int, sys.argv[3:5])
# What a test says that takes long (Tests/TestSupport/LongTests.swift).
LONG = "takes long"
SKIPPED = re.compile(r'Test (?P<name>.+?) skipped(?:: "(?P<reason>.*)")?\.?$')


# A log has the display name of a test that has one; to run a test, its function name is needed.
SENTENCE = re.compile(r'@Test\(\s*"((?:[^"\\]|\\.)*)"(?:(?!@Test).)*?\bfunc\s+(\w+)', re.DOTALL)


def functions():
    """The function names of tests with a display name, by that name."""
    files = (pathlib.Path(__file__).resolve().parent.parent / "Tests").rglob("*.swift")
    return {re.sub(r"\\(.)", r"\1", said): function for file in files for said, function in SENTENCE.findall(file.read_text())}


def cases_of(lane):
    """A lane's test cases; none if it ended before it wrote their results."""
    try:
        return list(tree.parse(lane.with_suffix(".xml")).iter("testcase"))
    except (OSError, tree.ParseError):
        return []


def name(case):
    return f'{case.get("classname")}/{case.get("name")}'


def seconds(case):
    return float(case.get("time", 0))


def skipped(logs):
    """The tests that were skipped, by the reason that they give."""
    found, named = {}, functions()
    for log in logs:
        for line in log.read_text(errors="replace").splitlines():
            line = re.sub(r"\x1b\[[0-9;]*m", "", line)
            # A suite reports it, and so does each of its tests.
            if (match := SKIPPED.search(line)) and "started" not in line:
                said = match["name"]
                test = named.get(said[1:-1], said[1:-1]) if said.startswith('"') else said.split("(")[0]
                found.setdefault(match["reason"] or "", []).append(test)
    return found


def command(reason, names):
    """The command that makes tests run which were skipped for a reason: what the reason says itself, or what installs what they need."""
    tests = "make test TESTS='" + "|".join(names) + "'"
    if said := re.search(r"`([^`]+)`", reason):
        return said[1]
    if "needs root" in reason:
        return "sudo " + tests
    if installs := re.search(r"apt install [\w-]+", reason):
        return f"{installs[0]} && {tests}"
    if "installed" in reason or "setup-tests" in reason or reason.startswith("needs "):
        return "make setup-tests && " + tests
    return tests


lanes = {lane: cases_of(lane) for lane in sorted(results.glob("*.log"))}
cases = sorted((case for cases in lanes.values() for case in cases), key=seconds, reverse=True)
print(f"\nbuilt in {built} s, tested in {tested} s: {len(cases)} tests, {sum(map(seconds, cases)):.0f} s in all; the slowest:")
for case in cases[:10]:
    print(f"{seconds(case):8.1f} s  {name(case)}")

left_out = skipped(lanes)
for reason, names in sorted(left_out.items()):
    if LONG not in reason:
        print(f"\nskipped: {', '.join(names)}\n    {reason or 'no reason given'}\n    to run: {command(reason, names)}")
if long := [name for reason, names in left_out.items() if LONG in reason for name in names]:
    print(f"\nleft out: {len(long)} long tests, and the long forms of others; `make test-all` runs them all")

failed = [name(case) for case in cases if case.find("failure") is not None]
if all(lanes.values()):
    (results / "failed").write_text("".join(re.escape(test.split("(")[0]) + "\\(\n" for test in failed))
if status:
    print(f"\n{len(failed)} tests failed:")
    for test in failed:
        print(f"    {test}")
    for lane, cases in lanes.items():
        log = lane.read_text(errors="replace").splitlines()
        # A message is as long as what it quotes (a daemon's log): its beginning tells what was expected and what came.
        for line in [line for line in log if "recorded an issue" in line][:8]:
            print(line[:600])
        if not cases:
            print(f"lane {lane.stem} ended before its last test; its last lines:", *log[-12:], sep="\n    ")
