"""`ocelli classify --jsonl FOLDER --resume ANSWERS`, killed again and again: every picture of the folder must be answered once, in order.

This is a part of deploy/kubernetes/bulk/job.yaml whose pod dies: the arguments are the manifest's, with folders of this machine.

usage: bulk.py [--lines N] [--kills N] [--seed N]     (100,000 lines take some minutes)
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import kubelet  # first: it finds the packages that read manifests
import daemon
import files


def arguments(folder):
    """The container's arguments for the index 0, with what is mounted where it lies here."""
    (job,) = files.Files().documents(files.DEPLOY / "kubernetes/bulk/job.yaml")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    places = {"/data": folder, "/srv/ocelli/models": daemon.MODELS, "/var/cache/ocelli": folder / "cache"}
    made = []
    for word in container["args"]:
        # All pictures in one part.
        word = word.replace("$(JOB_COMPLETION_INDEX)", "0").replace("--shards=10", "--shards=1")
        for mounted, place in places.items():
            word = word.replace(mounted, str(place))
        made.append(word)
    return made


class LineCounter:
    """Counts the lines of a file that grows, and reads each byte once. A last line that a kill has cut is overwritten with a whole one."""

    def __init__(self, path):
        self.path, self.offset = path, 0

    def more(self):
        """How many lines have come."""
        if not self.path.exists():
            return 0
        with self.path.open("rb") as file:
            file.seek(self.offset)
            data = file.read()
        end = data.rfind(b"\n") + 1
        self.offset += end
        return data.count(b"\n", 0, end)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=5_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    given = parser.parse_args()
    print(f"bulk: seed {given.seed}, {given.lines:,} lines, {given.kills} kills", flush=True)
    rng = random.Random(given.seed)
    pictures = sorted(str(path) for path in daemon.EXAMPLES.glob("*.*"))
    digits = {path: str(daemon.DIGITS.index(pathlib.Path(path).name.split("-")[0].split(".")[0])) for path in pictures}
    with tempfile.TemporaryDirectory(prefix="ocelli-bulk-", dir="/var/tmp") as folder:
        folder = pathlib.Path(folder)
        (folder / "pictures").mkdir()
        wanted, shows = [], {}
        for number in range(given.lines):
            picture = rng.choice(pictures)
            link = folder / f"pictures/{number:07}{pathlib.Path(picture).suffix}"
            link.symlink_to(picture)
            wanted.append(str(link))
            shows[str(link)] = digits[picture]
        answers = folder / "answers-0.jsonl"
        command = [daemon.binary(), *arguments(folder)]
        kills, status, done, counter = 0, None, 0, LineCounter(answers)
        while status is None:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                       env={**os.environ, "JOB_COMPLETION_INDEX": "0"})
            try:
                if kills < given.kills:
                    # In the middle of the work: at a random number of answers behind those that are there.
                    until = done + rng.randint(1, max(1, 2 * (given.lines - done) // (given.kills - kills + 1)))
                    while process.poll() is None and done < until:
                        time.sleep(0.02)
                        done += counter.more()
                    if process.poll() is None:
                        process.send_signal(signal.SIGKILL)
                        process.communicate()
                        kills += 1
                        continue
                errors = process.communicate()[1]
                status = process.returncode
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        found = [json.loads(line) for line in answers.read_text().splitlines()]
    problems = []
    if status != 0:
        problems.append(f"it ended with {status}: {errors[-500:]}")
    if [answer["file"] for answer in found] != wanted:
        problems.append(f"{len(found)} answers for {given.lines} lines, or in another order")
    wrong = [answer for answer in found if answer.get("classifications", [{}])[0].get("label") != shows.get(answer["file"])]
    if wrong:
        problems.append(f"{len(wrong)} wrong answers, the first {wrong[0]}")
    print(f"{len(found):,} answers, {kills} kills")
    print("PASS" if not problems else "FAIL: " + "\n      ".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
