#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The sample order of Megatron-LM's GPTDataset and blends, worked out with numpy from its description.

Needs numpy: python3 tests/backend/data/make_order_goldens.py writes orders.json beside itself.
"""
import json
import math
import pathlib
import struct

import numpy as np


def random_lengths(count, longest, seed):
    rng = np.random.RandomState(seed)
    return rng.randint(0, longest, count).astype(int).tolist()


def gpt_order(lengths, begin, end, seq, samples, seed):
    documents = list(range(begin, end))
    per_epoch = sum(lengths[d] for d in documents)
    epochs = 1
    while samples and epochs * per_epoch < samples * seq + 1:
        epochs += 1
    apart, without_last = False, 0
    if epochs > 1:
        without_last = ((epochs - 1) * per_epoch - 1) // seq
        apart = samples - without_last < int(0.80 * ((per_epoch - 1) // seq))
    state = np.random.RandomState(seed)

    def shuffled(values):
        array = np.array(values, dtype=np.int64)
        state.shuffle(array)
        return array.tolist()

    if apart:
        order = shuffled(documents * (epochs - 1)) + shuffled(documents)
    else:
        order = shuffled(documents * epochs)
    # Lay the documents end to end; sample s is the tokens [s * seq, s * seq + seq] of that line.
    total = (epochs * per_epoch - 1) // seq
    ends = np.cumsum([lengths[d] for d in order])
    starts = []
    for s in range(total + 1):
        # A sample begins on the token that the one before ended on: in the document that has it.
        position = int(np.searchsorted(ends, s * seq, side="right"))
        first = int(ends[position - 1]) if position else 0
        starts.append([position, s * seq - first])
    if starts:
        starts[0] = [0, 0]  # even if the first documents are empty
    if apart:
        samples_order = shuffled(range(without_last)) + shuffled(range(without_last, total))
    else:
        samples_order = shuffled(range(total))
    return {"epochs": epochs, "apart": apart, "documents": order, "starts": starts, "shuffle": samples_order}


def blend(weights, samples):
    w = np.array(weights, dtype=np.float64)
    w = w / np.sum(w)
    target = [math.ceil(samples * float(x)) for x in w]
    prepared = [int(math.ceil(t * (1 + 0.005))) for t in target]
    again = w / np.sum(w)
    counts = np.zeros(len(weights), dtype=np.int64)
    parts = []
    for i in range(sum(target)):
        errors = again * max(float(i), 1.0) - counts
        parts.append(int(np.argmax(errors)))
        counts[parts[-1]] += 1
    return {"weights": weights, "samples": samples, "target": target, "prepared": prepared, "parts": parts}


def split(text, documents):
    shares = [float(x) for x in text.split(",")]
    shares = np.array(shares + [0.0] * (3 - len(shares)))
    shares = (shares / np.sum(shares)).tolist()
    ranges, at = [], 0
    for share in shares:
        begin, at = at, at + share
        ranges.append([round(begin * documents), round(at * documents)] if at > begin else [0, 0])
    return {"text": text, "documents": documents, "ranges": ranges}


def dataset(dtype, code, sequences, documents):
    """The files of a dataset as hexadecimal text, and what is in them."""
    lengths = [len(s) for s in sequences]
    pointers = [sum(lengths[:i]) * np.dtype(dtype).itemsize for i in range(len(lengths))]
    index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths), len(documents))
    index += np.array(lengths, "<i4").tobytes() + np.array(pointers, "<i8").tobytes() + np.array(documents, "<i8").tobytes()
    data = b"".join(np.array(s, dtype).tobytes() for s in sequences)
    return {"idx": index.hex(), "bin": data.hex(), "sequences": sequences, "documents": len(documents) - 1}


def main():
    cases = []
    for count, longest, begin, end, seq, samples, seed in [
            (7, 30, 0, 7, 8, 5, 1234), (7, 30, 0, 7, 8, 40, 1234), (7, 30, 0, 7, 8, 0, 3), (40, 20, 5, 33, 16, 90, 0),
            (40, 20, 5, 33, 16, 26, 42), (5, 4, 0, 5, 16, 9, 1), (1, 1000, 0, 1, 7, 300, 4294967295), (60, 12, 0, 60, 1, 500, 77),
            (30, 9, 2, 30, 32, 20, 5), (200, 50, 0, 200, 64, 200, 1234)]:
        lengths = random_lengths(count, longest, seed % 1000 + 1)
        case = {"lengths": lengths, "begin": begin, "end": end, "seq_len": seq, "samples": samples, "seed": seed}
        cases.append({**case, **gpt_order(lengths, begin, end, seq, samples, seed)})
    shuffles = []
    for n, seed in [(1, 1), (2, 2), (17, 1234), (100_003, 9)]:
        state = np.random.RandomState(seed)
        array = np.arange(n)
        state.shuffle(array)
        checksum = int(sum((i + 1) * int(v) for i, v in enumerate(array)) % (1 << 61))
        shuffles.append({"n": n, "seed": seed, "first": array[:20].tolist(), "checksum": checksum})
    blends = [blend(w, n) for w, n in [([0.3, 0.7], 50), ([1], 5), ([2, 1, 1], 41), ([0.1] * 10, 64), ([5, 3, 0.001], 200),
                                       ([1 / 3, 1 / 3, 1 / 3], 100), ([0.07 * (i + 1) for i in range(23)], 150)]]
    splits = [split(t, n) for t, n in [("969, 30, 1", 1000), ("969,30,1", 77), ("99,1,0", 50), ("100", 10), ("1,1,1", 5),
                                       ("0,1,0", 9), ("0.5, 0.25, 0.25", 10), ("98,2", 3)]]
    datasets = [dataset("<u2", 8, [[1, 2, 65535], [], [7]], [0, 1, 3]), dataset("<i4", 4, [[100000, -1], [5]], [0, 2]),
                dataset("<u1", 1, [[0, 255]], [0, 1]), dataset("<i8", 5, [[3, 1 << 40]], [0, 1]),
                dataset("<i1", 2, [[-3, 4]], [0, 1]), dataset("<i2", 3, [[300, -300]], [0, 1])]
    out = {"orders": cases, "shuffles": shuffles, "blends": blends, "splits": splits, "datasets": datasets}
    text = json.dumps(out, separators=(",", ":")).replace("},{", "},\n{")
    (pathlib.Path(__file__).resolve().parent / "orders.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
