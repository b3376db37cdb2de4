"""Writes the tokenizers and the first inputs of `scripts/fuzz tokenizers`: write_seeds.py FIXTURES TOKENIZERS CORPUS. Standard
library only."""
import json
import os
import sys

fixtures, tokenizers, corpus = sys.argv[1:]
with open(fixtures) as file:
    content = json.load(file)
# What each keeps of a text, as fuzzTokenizer checks it: every byte; canonical equivalence; what it changes once, it does not change
# again.
lossless = ["plain", "bert 0", "Punctuation", "digits", "each digit", "fixed length"] + [
    "split " + name for name in ["gemma", "llama 3", "gpt-4o", "lazy", "lines"] + [
        inverted + behavior for inverted in ("", "inverted ") for behavior in (
            "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")]]
kept = {**dict.fromkeys(lossless, "="), **dict.fromkeys(["NFC", "NFD"], "~"),
        **dict.fromkeys(["NFKC", "NFKD", "Lowercase", "StripAccents"], "2")}
assert kept.keys() <= {case["name"] for case in content["cases"]}
# A short model keeps files short enough to change each of their parts.
short = {"type": "BPE", "unk_token": "?", "byte_fallback": True, "merges": ["a b"],
         "vocab": {"?": 0, "a": 1, "b": 2, "ab": 3, "<0x20>": 4, "<0xC3>": 5}}
cases = [{"version": "1.0", "model": content["model"], **case["parts"]} for case in content["cases"]]
with open(tokenizers, "w") as file:
    file.writelines(
        kept.get(one["name"], "-") + json.dumps(case) + "\n" for one, case in zip(content["cases"], cases))
for number, case in enumerate(cases):
    small = json.dumps({**case, "model": short} if case["model"] == content["model"] else case, separators=(",", ":"))
    with open(os.path.join(corpus, f"file.{number}"), "wb") as file:
        file.write(b"\xff" + small.encode() + b"\0" + content["texts"][number % len(content["texts"])].encode())
    for place, text in enumerate(content["texts"]):
        with open(os.path.join(corpus, f"text.{number}.{place}"), "wb") as file:
            file.write(bytes([number]) + text.encode())
