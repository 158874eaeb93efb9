#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a smaller Plotly for pages: the kinds of chart that Pleat draws, and what they need.

usage: slim_plotly.py plotly.min.js SMALL.js [TRACE...]

Plotly's bundle is one function whose statements are `var name = wrap((exports, module) => {...})`,
one for each of its source files, and the helpers that they share. What is registered at its end is
cut down to the traces named here (scatter is part of the core), and only statements that can be
reached from there are kept. Names of statements are nowhere else names of something local, so words
say which statement needs which. Licences in comments stay.
"""
import re
import sys

TRACES = ("bar", "histogram")
OPENING = "var Plotly=(()=>{"
TOKEN = re.compile(r"""
  (?P<blank>\s+|/\*.*?\*/|//[^\n]*)
 |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
 |(?P<word>[A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*)
 |(?P<number>\.?\d[\w.]*(?:(?<=[eE])[+-]\d+)?)
 |(?P<template>`)
 |(?P<slash>/)
 |(?P<close>[)\]}])
 |(?P<open>[(\[{])
 |(?P<sign>\+\+|--|=>|.)
""", re.X | re.S)
EXPRESSION = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
# After these a slash begins a regular expression, as it does after most signs.
BEFORE_OPERAND = {"return", "typeof", "case", "in", "of", "delete", "void", "new", "throw", "do", "else"}


def end_of_template(text, at, end):
    """Just behind a template literal that begins there."""
    at += 1
    while text[at] != "`":
        if text[at] == "\\":
            at += 2
        elif text.startswith("${", at):
            depth = 1
            for kind, _, start in tokens(text, at + 2, end):
                depth += (kind == "open") - (kind == "close")
                if depth == 0:
                    at = start + 1
                    break
        else:
            at += 1
    return at + 1


def tokens(text, at, end):
    """Kind, text and place of each token; blanks and comments are left out."""
    last_kind, last = "", ""
    while at < end:
        match = TOKEN.match(text, at)
        kind, token = match.lastgroup, match.group()
        if kind == "slash":
            divides = last_kind in ("number", "string", "template", "close") or (
                last_kind == "word" and last not in BEFORE_OPERAND)
            expression = None if divides else EXPRESSION.match(text, at)
            if expression:
                kind, token = "expression", expression.group()
        elif kind == "template":
            token = text[at:end_of_template(text, at, end)]
        if kind != "blank":
            yield kind, token, at
            last_kind, last = kind, token
        at += len(token)


def statements(text, at, end):
    """Begin and end of each statement of a function's body, up to the brace that closes it."""
    depth, begin, first = 0, at, None
    found = []
    for kind, token, start in tokens(text, at, end):
        if first is None:
            first, begin = token, start
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
            if depth < 0:
                return found, start
            if depth == 0 and token == "}" and first in ("function", "class", "async"):
                found.append((begin, start + 1))
                first = None
        elif depth == 0 and token == ";":
            found.append((begin, start + 1))
            first = None
    raise ValueError("the bundle has no end")


def names(statement):
    """What a statement declares, and all words in it that may name something."""
    declared, words = [], set()
    depth, awaits_name, last = 0, True, ""
    kind_of = None
    for kind, token, _ in tokens(statement, 0, len(statement)):
        if kind_of is None:
            kind_of = token
            awaits_name = token in ("var", "function", "class", "async")
            continue
        depth += (kind == "open") - (kind == "close")
        if kind == "word" and awaits_name and depth == 0 and token != "function":
            declared.append(token)
            awaits_name = False
        elif kind_of == "var" and depth == 0 and token == ",":
            awaits_name = True
        elif kind == "word" and last != ".":
            words.add(token)
        elif kind == "template":
            words.update(re.findall(r"[\w$]+", token))
        last = token
    if kind_of not in ("var", "function", "class", "async"):
        words.add(kind_of)
    return declared, words


def trace_of(call, text, where, depth=3):
    """The name that a registered module has, "bar"; empty where it says none."""
    found = re.search(r'moduleType:"\w+",name:"(\w+)"', text[where[call]])
    if found:
        return found.group(1)
    inner = re.search(r"exports=([\w$]+)\(\)", text[where[call]])
    return trace_of(inner.group(1), text, where, depth - 1) if inner and depth > 0 else ""


def slim(bundle, traces=TRACES):
    begin = bundle.index(OPENING) + len(OPENING)
    places, end = statements(bundle, begin, len(bundle))
    text = [bundle[a:b] for a, b in places]
    facts = [names(s) for s in text]
    where = {name: i for i, (declared, _) in enumerate(facts) for name in declared}
    registering = [i for i, s in enumerate(text) if ".register([" in s and "module" not in s[:4]]
    at = registering[-1]
    listed = re.search(r"\.register\(\[([^\]]*)\]\)", text[at])
    calls = {trace_of(c[:-2], text, where): c for c in listed.group(1).split(",")}
    missing = [t for t in traces if t not in calls]
    if missing:
        raise ValueError(f"the bundle has no {', '.join(missing)}")
    kept = ",".join(calls[t] for t in traces)
    text[at] = text[at].replace(listed.group(0), f".register([{kept}])")
    facts[at] = names(text[at])
    live, todo = set(), [len(text) - 1]
    while todo:
        i = todo.pop()
        if i in live:
            continue
        live.add(i)
        todo += [where[word] for word in facts[i][1] if word in where]
    # Statements that declare nothing fill in tables of exports: needed where the table is.
    for i, (declared, _) in enumerate(facts):
        table = re.match(r"[\w$]+\(([\w$]+),", text[i]) if not declared else None
        if table and where.get(table.group(1)) in live and i not in live:
            raise ValueError("a table of exports would be needed")
    body = "".join(text[i] for i in sorted(live))
    note = f"/* cut down by Pleat (slim_plotly.py) to: scatter, {', '.join(traces)} */\n"
    return note + bundle[:begin] + body + bundle[end:]


def main():
    source, target, *traces = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        bundle = file.read()
    with open(target, "w", encoding="utf-8") as file:
        file.write(slim(bundle, traces or TRACES))


if __name__ == "__main__":
    main()
