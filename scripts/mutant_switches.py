"""Puts mutants into a Swift source behind a switch, so that one build serves all of them.

The function that a mutant changes gets a copy of its body for each of its mutants, next to the unchanged one:

    func f() -> Int { a + b }      func f() -> Int { if activeMutant == 7 { a - b } else { a + b } }

The number `activeMutant` is read from a file when the program first asks for it. A mutant outside function bodies (a stored
constant, a default argument) cannot be switched.
"""

import re

SWITCH_FILE = "ActiveMutant.swift"
SWITCH = """import Glibc

/// The mutant that is active; 0: none.
let activeMutant: Int = {
    guard let file = fopen("%s", "r") else { return 0 }
    defer { fclose(file) }
    var number = 0
    while case let byte = fgetc(file), byte >= 48, byte <= 57 { number = number * 10 + Int(byte) - 48 }
    return number
}()
"""

# The text between the parameters and the brace of a function's body.
TAIL = re.compile(
    r"\s*(?:async\b\s*)?(?:(?:throws\b(?:\s*\([^()]*\))?|rethrows\b)\s*)?"
    r"(?:->\s*(?P<result>(?:[^={}\n]|\n(?=\s*where\b))+))?(?:\s*where\b[^{}]*)?\s*$")
NAME = re.compile(r"(?<![.\w])(?:func\s+[^\s(<]+|init[?!]?|subscript)\s*(?=[(<])")
ACCESSOR = re.compile(r"(?:^|\s)(?:(?P<get>get|_read)|set|_modify|didSet|willSet|deinit)\s*(?:\(\s*\w+\s*\))?\s*(?:throws\b(?:\s*\([^()]*\))?)?\s*$")
COMPUTED = re.compile(r"\bvar\s+`?\w+`?\s*:\s*[^={}\n]+$")
VALUE = re.compile(r"\blet\s+\w+(?:\s*:[^=\n]+)?\s*=[ ]*([^ \n{}][^\n{}]*)$", re.M)
CLOSURE = re.compile(r"\b(?:let|var)\s+`?\w+`?\s*:\s*[^={}\n]+=\s*$")


def blanked(source):
    """The text with comments and what strings contain replaced by blanks: braces that are left are Swift's."""
    out = list(source)
    length = len(source)

    def erase(begin, end):
        for i in range(begin, min(end, length)):
            if out[i] != "\n":
                out[i] = " "

    def string(at):
        """The end of the literal that begins at `at`, with its number signs."""
        signs = 0
        while source[at + signs] == "#":
            signs += 1
        quote = '"""' if source.startswith('"""', at + signs) else '"'
        at += signs + len(quote)
        closing, escape = quote + "#" * signs, "\\" + "#" * signs
        while at < length:
            if source.startswith(closing, at):
                return at + len(closing)
            if source.startswith(escape, at):
                at += len(escape)
                if source.startswith("(", at):
                    depth = 0
                    while at < length:
                        if source[at] == "(":
                            depth += 1
                        elif source[at] == ")":
                            depth -= 1
                        elif source[at] == '"':
                            at = string(at)
                            continue
                        at += 1
                        if depth == 0:
                            break
                else:
                    at += 1
                continue
            if quote == '"' and source[at] == "\n":
                return at
            at += 1
        return at

    at = 0
    while at < length:
        if source.startswith("//", at):
            end = source.find("\n", at)
            end = length if end < 0 else end
        elif source.startswith("/*", at):
            end, depth = at + 2, 1
            while end < length and depth:
                if source.startswith("/*", end):
                    depth, end = depth + 1, end + 2
                elif source.startswith("*/", end):
                    depth, end = depth - 1, end + 2
                else:
                    end += 1
        elif source[at] == '"' or re.match(r'#+"', source[at : at + 4]):
            end = string(at)
        else:
            at += 1
            continue
        erase(at, end)
        at = end
    return "".join(out)


def balanced(text, at):
    """The offset after the group in brackets that begins at `at`, or None."""
    opening = text[at]
    closing = {"(": ")", "<": ">"}[opening]
    depth = 0
    for i in range(at, len(text)):
        if text[i] == opening:
            depth += 1
        elif text[i] == closing and text[i - 1] != "-":
            depth -= 1
            if depth == 0:
                return i + 1
    return None


def one_line(text):
    """The text with line breaks in brackets replaced by blanks."""
    out, depth = [], 0
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        out.append(" " if sign == "\n" and depth > 0 else sign)
    return "".join(out)


def returns(header):
    """Whether the block behind `header` is a function's body: True with a result, False without one; None if the block is no such body."""
    for match in reversed(list(NAME.finditer(header))):
        at = match.end()
        if header[at] == "<":
            at = balanced(header, at)
            if at is None or header[at : at + 1] != "(":
                continue
        at = balanced(header, at)
        tail = TAIL.match(one_line(header[at:])) if at is not None else None
        if tail:
            result = (tail["result"] or "").split(" where ")[0].strip()
            return result not in ("", "Void", "()")
    accessor = ACCESSOR.search(header)
    if accessor:
        return bool(accessor["get"])
    return True if COMPUTED.search(header) or CLOSURE.search(header) else None


def bodies(source):
    """The parts that can be copied, as (begin, end, kind): function bodies, and the values of constants."""
    text = blanked(source)
    found = []
    # Of each open block: where it begins, what it is, how many parentheses are open in it, and where its last statement began.
    stack = [[0, None, 0, 0]]
    for match in re.finditer(r"[{}();]", text):
        at, sign = match.start(), match[0]
        block = stack[-1]
        if sign == "{":
            stack.append([at + 1, returns(text[block[3] : at]), 0, at + 1])
        elif sign == "}" and len(stack) > 1:
            begin, kind, _, _ = stack.pop()
            if kind is not None:
                found.append((begin, at, kind))
            if stack[-1][2] == 0:
                stack[-1][3] = at + 1
        elif sign == "(":
            block[2] += 1
        elif sign == ")":
            block[2] -= 1
        elif sign == ";" and block[2] == 0:
            block[3] = at + 1
    for match in VALUE.finditer(text):
        if text.count("(", *match.span(1)) == text.count(")", *match.span(1)):
            found.append((match.start(1), match.end(1), VALUE))
    return found


def change(old, new):
    """The range of `old` that changes, and by how much it grows."""
    most = min(len(old), len(new))
    begin = 0
    while begin < most and old[begin] == new[begin]:
        begin += 1
    end = 0
    while end < most - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    return begin, len(old) - end, len(new) - len(old)


def switched(source, mutants):
    """The source with the mutants {number: text with the mutant} behind the switch, and the numbers of those that cannot be switched."""
    blocks = bodies(source)
    places, left = {}, []
    for number, text in mutants.items():
        begin, end, more = change(source, text)
        around = [block for block in blocks if block[0] <= begin and end <= block[1]]
        if not around:
            left.append(number)
            continue
        block = max(around, key=lambda block: (block[2] is not VALUE, block[0]))
        places.setdefault(block, []).append((number, text[block[0] : block[1] + more]))
    result, grown = source, {}
    for block in sorted(places, key=lambda block: block[0], reverse=True):
        begin, end, kind = block
        # Bodies within this one have been switched before it.
        end += sum(more for (first, last), more in grown.items() if begin <= first and last <= block[1])
        copies = " else ".join(
            f"if activeMutant == {number} {{/*mutant {number}<*/{body}/*>mutant {number}*/\n}}" for number, body in places[block])
        names = ",".join(str(number) for number, _ in places[block])
        if kind is VALUE:
            copies = " : ".join(f"activeMutant == {number} ? ({body})" for number, body in places[block])
            text = f"/*body {names}<*/ {copies} : ({result[begin:end]}) /*>body {names}*/"
        else:
            # Two statements are not an expression, whose branches would need one type.
            head = "" if kind else "_ = activeMutant; "
            text = f"/*body {names}<*/ {head}{copies} else {{{result[begin:end]}\n}} /*>body {names}*/"
        grown[begin, block[1]] = len(text) - (end - begin)
        result = result[:begin] + text + result[end:]
    return result, left


def mutants_at(text, line):
    """The numbers of the mutants that line `line` (from 1) of a switched source belongs to: those of the copy, else of the function, else all."""
    starts = [0] + [match.end() for match in re.finditer("\n", text)]
    begin = starts[min(line, len(starts)) - 1]
    end = starts[line] if line < len(starts) else len(text)
    for kind in ("mutant", "body"):
        found = []
        for match in re.finditer(rf"/\*{kind} ([\d,]+)<\*/", text):
            close = text.find(f"/*>{kind} {match[1]}*/", match.end())
            if match.start() < end and close >= begin:
                found.append((close - match.start(), match[1]))
        if found:
            # The innermost; of several copies that share a line, all.
            shortest = min(found)[0]
            chosen = found if kind == "mutant" else [f for f in found if f[0] == shortest]
            return {int(n) for _, names in chosen for n in names.split(",")}
    return {int(n) for match in re.finditer(r"/\*body ([\d,]+)<\*/", text) for n in match[1].split(",")}
