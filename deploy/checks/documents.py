"""Blocks of commands, of Python and of JSON in Markdown, and comparison of what they print with what the document shows.

A fenced block without a language, or of sh, is a block of commands. If a line of it begins with `$ `, these lines are the commands, and the others are
what they print: numbers may differ, `…` and `...` stand for anything. Otherwise every line is a command. A comment before the
block, which a reader does not see, says how to run it:

    <!-- not run: REASON -->        it cannot run here
    <!-- before: COMMANDS -->       what the reader has done by then, as putting pictures into a folder
    <!-- in a checkout -->          run in the root of a checkout instead of a folder of its own; with `: this document`, all blocks
    <!-- after: COMMANDS -->        what must hold afterwards
    <!-- an example -->             it prints other words, as of other pictures

A block of python is run as a program, with the same marks. A block of json must be JSON: a whole text, or members of an object, with `…` for what is left out.
"""

import dataclasses
import json
import re

MARK = re.compile(r"<!--\s*(not run|before|after|an example|in a checkout)(?::\s*(.*?))?\s*-->", re.S)


@dataclasses.dataclass
class Block:
    line: int
    text: str
    marks: dict
    language: str = ""

    @property
    def reason(self):
        """The reason why it is not run."""
        return self.marks.get("not run")

    @property
    def commands(self):
        if self.language == "python":
            return f"python3 - <<'END-OF-BLOCK'\n{self.text}\nEND-OF-BLOCK"
        lines = self.text.splitlines()
        if not any(line.startswith("$ ") for line in lines):
            return self.text
        return "\n".join(line[2:] for line in lines if line.startswith("$ "))

    @property
    def shown(self):
        """The lines that it shows as printed."""
        lines = self.text.splitlines()
        shows = "an example" not in self.marks and any(line.startswith("$ ") for line in lines)
        return [line for line in lines if shows and not line.startswith("$ ") and line.strip(" .…")]


def blocks(text, languages=("", "sh", "python")):
    """The blocks of these languages in a document, in order: by default those that are run."""
    found, marks, held, language = [], {}, None, ""
    everywhere = {"in a checkout": ""} if "<!-- in a checkout: this document -->" in text else {}
    comment = None
    for number, line in enumerate(text.splitlines(), 1):
        if comment is not None or (held is None and line.startswith("<!--")):
            comment = (comment + "\n" if comment else "") + line
            if "-->" in line:
                for kind, value in MARK.findall(comment):
                    marks[kind] = (marks[kind] + "\n" if marks.get(kind) else "") + value
                comment = None
        elif line.startswith("```"):
            if held is None:
                held, language, first = [], line[3:].strip(), number
            else:
                if language in languages:
                    found.append(Block(first, "\n".join(held), everywhere | marks, language))
                held, marks = None, {}
        elif held is not None:
            held.append(line)
        elif line.strip():
            # A mark belongs to the block right after it.
            marks = {}
    return found


ELLIPSIS = re.compile(r'("(?:[^"\\\\]|\\\\.)*")|,\s*…|…\s*,|…')


def value(block):
    """The value of a block of JSON; members without braces are those of an object. Raises ValueError if it is not JSON."""
    # In a string, an ellipsis is a character.
    text = ELLIPSIS.sub(lambda found: found[1] or "", block.text)
    return json.loads("{" + text + "}" if re.match(r'\s*"[^"]*"\s*:', text) else text)


def manifest(value):
    """The names of the files in a model.json; None if the value is none."""
    if not (isinstance(value, dict) and "id" in value and ("model" in value or "pipeline" in value)):
        return None
    return sorted(set(re.findall(r'"([^"/]+\.(?:onnx|tflite|mlmodel|xml|txt|safetensors))"', json.dumps(value))))


NUMBER = r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?"


def pattern(line):
    """What a shown line matches: any numbers, any spaces, anything for `…`."""
    line = re.sub(r"\s+#.*$", "", line.strip())
    parts = []
    for part in re.split(r"(…|\.\.\.|\s+|" + NUMBER + ")", line):
        if part in ("…", "..."):
            parts.append(".*")
        elif part.isspace():
            parts.append(r"\s*")
        elif re.fullmatch(NUMBER, part):
            parts.append(NUMBER)
        else:
            # JSON is shown with spaces that the answer does not have.
            parts.append(r"\s*".join(re.escape(piece) for piece in re.split(r"([{}\[\]:,])", part) if piece))
    return r"\s*".join(part for part in parts if part != r"\s*")


SAMPLE = """
<!-- not run: no -->
```
one
```

<!-- before: two -->
<!-- an example -->
Words between a mark and a block end it.

```
$ three
{ "label": "7", "score": 0.98, … }
```

```json
{ "a": "…", "b": [ 1, … ], … }
```

```python
print("three")
```

<!-- before: four -->
<!-- after: five -->
```
six
```
"""


def self_test():
    """The mistakes of this module; none if it reads its marks and finds what is not printed."""
    found = blocks(SAMPLE)
    read = [(block.line, block.commands, block.reason, block.marks.get("before"), block.marks.get("after")) for block in found]
    program = "python3 - <<'END-OF-BLOCK'\nprint(\"three\")\nEND-OF-BLOCK"
    expected = [(3, "one", "no", None, None), (11, "three", None, None, None), (20, program, None, None, None),
                (26, "six", None, "four", "five")]
    problems = [] if read == expected else [f"read {read}, expected {expected}"]
    texts = [block.text for block in blocks(SAMPLE, ["json"])]
    for text, wanted in ((texts[0], {"a": "…", "b": [1]}), ('"a": {"b": 1}', {"a": {"b": 1}}), ("[…, 2]", [2]), ("{'a': 1}", None), ("[1 2]", None)):
        try:
            found_value = value(Block(1, text, {}, "json"))
        except ValueError:
            found_value = None
        if found_value != wanted:
            problems.append(f"{text}: {found_value}, expected {wanted}")
    for printed, count in (('{"label":"7","score":0.5,"other":1}', 0), ('{"label":"x","score":0.5,"other":1}', 1), ("", 1)):
        if len(missing(found[1], printed)) != count:
            problems.append(f"{printed!r}: {missing(found[1], printed)}")
    return problems


def missing(block, output):
    """The shown lines that the output lacks."""
    return [line for line in block.shown if not re.search(pattern(line), output, re.S)]
