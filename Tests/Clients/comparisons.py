"""The comparisons of a script: prints those that fail (with -v all), and at the end how many."""
import sys

failures = 0


def check(what, holds, detail=""):
    global failures
    failures += not holds
    if not holds or "-v" in sys.argv:
        print(("ok   " if holds else "FAIL ") + what, detail)


def end(more=""):
    print(("all hold" if not failures else f"{failures} failed") + more)
    sys.exit(failures > 0)
