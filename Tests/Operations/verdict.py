"""Whether a soak's figures stay where they were."""

import collections
import dataclasses
import pathlib
import statistics
import time

# Memory may grow by this much from the warm-up to the end, by the line through the samples: what an allocator's noise is,
# and far below what a leak of a kilobyte a request would come to.
GROWTH_SHARE = 0.05
GROWTH_KIB = 4096
# Dispatch and Swift's pools start and end threads as they see fit; a leak shows as a line that goes up, not as one or two.
THREAD_PLAY = 3


@dataclasses.dataclass
class Row:
    """The daemon at rest, after a round."""

    seconds: float
    visits: int
    resident: int
    files: int
    threads: list
    internal: float

    @property
    def text(self):
        return (
            f"{self.seconds:8.0f} s {self.visits:9d} visits   RSS {self.resident / 1024:7.1f} MiB   "
            f"{self.files:3d} files   {len(self.threads):3d} threads")


def slope(rows):
    """KiB a second of the line through the samples (least squares), and its standard error."""
    xs, ys = [r.seconds for r in rows], [r.resident for r in rows]
    middle_x, middle_y = statistics.fmean(xs), statistics.fmean(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    rise = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys)) / spread
    residue = sum((y - middle_y - rise * (x - middle_x)) ** 2 for x, y in zip(xs, ys))
    return rise, (residue / max(1, len(xs) - 2) / spread) ** 0.5


def growth(rows):
    """KiB that the line rises over the samples, the standard error of that, and how much it may."""
    rise, error = slope(rows)
    span = rows[-1].seconds - rows[0].seconds
    return rise * span, error * span, max(GROWTH_KIB, GROWTH_SHARE * statistics.median(r.resident for r in rows))


def judge(rows, warm_up):
    problems = []
    judged = rows[warm_up:]
    grown, error, bound = growth(judged)
    # Two standard errors off: a short run has few samples, and the allocator's noise is not a leak.
    if grown - 2 * error > bound:
        problems.append(f"RSS grew by {grown:.0f} ± {error:.0f} KiB after the warm-up, more than {bound:.0f}")
    files = {r.files for r in judged}
    if len(files) > 1:
        problems.append(f"open files at rest varied: {sorted(files)}")
    first = max(len(r.threads) for r in rows[: warm_up + 1])
    most = max(len(r.threads) for r in judged)
    if most > first + THREAD_PLAY:
        names = collections.Counter(max(judged, key=lambda r: len(r.threads)).threads)
        problems.append(f"threads at rest rose from {first} to {most}: {dict(names)}")
    if rows[-1].internal:
        problems.append(f"{rows[-1].internal:.0f} internal errors were answered")
    return problems


def explain(rows, warm_up):
    judged = rows[warm_up:]
    rise, error = slope(judged)
    grown, _, bound = growth(judged)
    counts = sorted({len(r.threads) for r in judged})
    yield (
        f"after the warm-up ({judged[0].seconds:.0f} s): RSS {rise * 3600 / 1024:+.2f} MiB/h (standard error "
        f"{error * 3600 / 1024:.2f}), {grown:+.0f} KiB over the rest of the run (bound {bound:.0f}); "
        f"files {sorted({r.files for r in judged})}, threads {counts}")


def report(arguments, rows, warm_up, summary, problems, machine):
    lines = [
        f"# Soak of {arguments.minutes:g} minutes, {time.strftime('%Y-%m-%d')}", "",
        f"`Tests/Operations/soak {arguments.minutes:g} --seed {arguments.seed}`, {machine}. After each round all clients go home; the "
        "figures are those of the daemon at rest.", "", summary + ".", "",
        *(line[0].upper() + line[1:] + "." for line in explain(rows, warm_up)), "",
        "Verdict: " + ("passed." if not problems else "FAILED: " + "; ".join(problems) + "."), "",
        "| seconds | visits | RSS (MiB) | open files | threads |", "| ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [f"| {r.seconds:.0f} | {r.visits} | {r.resident / 1024:.1f} | {r.files} | {len(r.threads)} |" for r in rows]
    pathlib.Path(arguments.report).write_text("\n".join(lines) + "\n")
