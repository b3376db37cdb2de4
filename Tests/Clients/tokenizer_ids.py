"""Encodes texts with the `tokenizers` package: a JSON object with "tokenizers" (contents of tokenizer.json) and "texts" comes
on standard input, a list for each tokenizer goes to standard output, with ids, mask and type ids of each text, or null where the
package reports an error."""
import json
import sys

from tokenizers import Tokenizer

request = json.load(sys.stdin)


def encoded(tokenizer, text):
    try:
        encoding = tokenizer.encode(text)
    except Exception:
        return None
    return [encoding.ids, encoding.attention_mask, encoding.type_ids]


answer = []
for content in request["tokenizers"]:
    tokenizer = Tokenizer.from_str(content)
    answer.append([encoded(tokenizer, text) for text in request["texts"]])
json.dump(answer, sys.stdout)
