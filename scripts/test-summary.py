"""What scripts/test says last: which tests were slow, and then, where something failed, what and why.

usage: test-summary.py RESULTS STATUS      RESULTS: the folder with each lane's .xml and .log; STATUS: what the lanes ended with

The failures come last because the end of a long log is what people, and machines that keep only a part of it, look at. Their
names go into RESULTS/failed, one a line, as `scripts/test` takes them; there is no such file where a lane did not come to its end.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

results, status = pathlib.Path(sys.argv[1]), int(sys.argv[2])


def cases_of(lane):
    """A lane's test cases; none where it ended before it wrote what came of them."""
    try:
        return list(tree.parse(lane.with_suffix(".xml")).iter("testcase"))
    except (OSError, tree.ParseError):
        return []


def name(case):
    return f'{case.get("classname")}/{case.get("name")}'


def seconds(case):
    return float(case.get("time", 0))


lanes = {lane: cases_of(lane) for lane in sorted(results.glob("*.log"))}
cases = sorted((case for cases in lanes.values() for case in cases), key=seconds, reverse=True)
print(f"\n{len(cases)} tests, {sum(map(seconds, cases)):.0f} s in all; the slowest:")
for case in cases[:10]:
    print(f"{seconds(case):8.1f} s  {name(case)}")

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
