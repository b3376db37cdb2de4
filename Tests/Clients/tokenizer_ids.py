"""Encodes texts with the `tokenizers` package: a JSON object with "tokenizers" (contents of tokenizer.json) and "texts" comes
on standard input, a list for each tokenizer goes to standard output, with ids, mask and type ids of each text, or null where the
package reports an error. With "found", a file of ids (32 bits each; before those of a text their number), the list has the numbers
of the texts that have others."""
import array
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


def different(tokenizer, found):
    place, numbers = 0, []
    for number, text in enumerate(request["texts"]):
        end = place + 1 + found[place]
        if found[place + 1:end].tolist() != tokenizer.encode(text).ids:
            numbers.append(number)
        place = end
    return numbers


answer = []
for content in request["tokenizers"]:
    tokenizer = Tokenizer.from_str(content)
    if "found" in request:
        with open(request["found"], "rb") as file:
            answer.append(different(tokenizer, array.array("I", file.read())))
    else:
        answer.append([encoded(tokenizer, text) for text in request["texts"]])
json.dump(answer, sys.stdout)
