"""Reads teachbench's lines, and writes tables in Markdown."""
import json
import sys

lines = [json.loads(line) for line in sys.stdin]


def table(head, rows):
    print("| " + " | ".join(head) + " |\n" + "| --- " * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def percent(value):
    return "–" if value is None else f"{100 * value:.1f} %"


accuracy = [one for one in lines if one["kind"] == "accuracy"]
if accuracy:
    print("Accuracy on pictures that were not taught, and what leave-one-out said of it. The control: Wilson's interval of as many pictures that were\n"
          "not taught, chosen at random.\n")
    table(["set", "examples a class", "method", "accuracy", "leave-one-out less held-out, points", "Wilson's interval holds", "the control's holds",
           "chosen"],
          [[one["set"], one["each"], one["method"], percent(one["accuracy"]),
            "–" if one["difference"] is None else f"{100 * one['difference']:+.1f}", percent(one["held"]), percent(one["control_held"]),
            ", ".join(f"{name} {count}" for name, count in one["chosen"].items()) if one["method"] == "auto" else ""] for one in accuracy])
    missed = [f"{one['set']} with {one['each']} ({100 * one['difference']:+.1f} points, {percent(one['held'])})" for one in accuracy
              if one["method"] == "auto" and one["difference"] is not None and (abs(one["difference"]) > 0.02 or one["held"] < 0.9)]
    print(f"Of `auto`, beyond 2 points, or held in less than 90 %: {', '.join(missed) or 'none'}.\n")
strangers = [one for one in lines if one["kind"] == "strangers"]
if strangers:
    print("Half of the classes taught, the others strangers: pictures beyond the threshold. \"Possible\": found where exactly 5 % of the known are rejected.\n")
    table(["set", "examples a class", "accuracy", "known rejected", "strangers found", "possible"],
          [[one["set"], one["each"], percent(one["accuracy"]), percent(one["rejected"]), percent(one["found"]), percent(one["possible"])]
           for one in strangers])
    for words, found in (("Separable (95 % possible), but fewer than 95 % found", lambda one: one["possible"] >= 0.95 and one["found"] < 0.95),
                         ("Not separable", lambda one: one["possible"] < 0.95)):
        print(f"{words}: {', '.join(one['set'] + ' with ' + str(one['each']) for one in strangers if found(one)) or 'none'}.\n")
cost = [one for one in lines if one["kind"] == "cost"]
if cost:
    print("What a change costs beyond the embedding, the journal and its fsync included, until the new class answers; then forgetting one\n"
          "example, which rewrites the journal, and the evaluation in the background, for which nobody waits.\n")
    table(["method", "classes", "examples a class", "numbers", "change, median ms", "most ms", "answer, ms", "forget, ms", "evaluation, s",
           "memory, MB"],
          [[one["method"], one["classes"], one["each"], one["dimension"], f"{one['change_ms']:.1f}", f"{one['change_most_ms']:.1f}",
            f"{one['answer_ms']:.2f}", f"{one['forget_ms']:.0f}", f"{one['evaluation_s']:.1f}", f"{one['memory_mb']:.0f}"] for one in cost])
