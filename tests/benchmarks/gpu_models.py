#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""What gpu_all.sh trains: shapes of the shipped models with fewer layers, and fewer experts where one
layer's are too many, beside 18 bytes a parameter.

  gpu_models.py configs/models OUT --memory 141

Writes OUT/NAME.json (config.json as Hugging Face has it), OUT/NAME-tokens.bin and .idx (Megatron-LM's indexed
dataset: uniform random tokens of the model's vocabulary, so that routing is as balanced as random weights
make it, for Pleat and PyTorch alike), and OUT/models.tsv: name, sequences a microbatch, microbatches."""
import argparse
import array
import json
import os
import random
import struct
import sys

LARGE = 100  # GB of GPU memory from which on the larger cuts fit
GLOBAL_BATCH, LARGEST_BATCH, SEQ = 8, 32, 4096
# Sequences a microbatch: `pleat predict` puts all runs at 75 to 85% of an H200's and an H100's memory, graphs
# and fp8 included; on average an expert has 2,048 rows of Mixtral's microbatch, 1,024 of Qwen3's, 2,048 of
# DeepSeek-V3's (4,096 where it is cut to 16 experts).
MODELS = {
    "mixtral": ("mixtral-8x7b", 2, dict(num_hidden_layers=(4, 2))),
    "qwen3": ("qwen3-30b-a3b", 4, dict(num_hidden_layers=(8, 4))),
    "deepseek": ("deepseek-v3", 2, dict(num_hidden_layers=(3, 2), first_k_dense_replace=1, n_routed_experts=(32, 16),
                                        num_nextn_predict_layers=0, rope_scaling=None, quantization_config=None)),
}
CURVE = ("qwen3-30b-a3b", dict(num_hidden_layers=2, num_experts=16, vocab_size=32768))


def cut(source, model, changes, large):
    with open(os.path.join(source, model + ".json"), encoding="utf-8") as file:
        config = json.load(file)
    for key, value in changes.items():
        config[key] = value[0 if large else 1] if isinstance(value, tuple) else value
    return {key: value for key, value in config.items() if value is not None}


def write_tokens(prefix, vocabulary, count, seed=1):
    """One sequence, one document; int32."""
    rng = random.Random(seed)
    tokens = array.array("i", (rng.randrange(vocabulary) for _ in range(count)))
    if sys.byteorder == "big":
        tokens.byteswap()
    with open(prefix + ".bin", "wb") as file:
        tokens.tofile(file)
    with open(prefix + ".idx", "wb") as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 4, 1, 2))
        file.write(struct.pack("<iqqq", count, 0, 0, 1))  # its length and place, where documents begin and end


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("source")
    p.add_argument("out")
    p.add_argument("--memory", type=float, required=True, help="GB of the GPU")
    p.add_argument("--steps", type=int, default=14, help="that the tokens are to last for")
    o = p.parse_args()
    with open(os.path.join(o.out, "models.tsv"), "w", encoding="utf-8") as table:
        for name, (model, micro, changes) in MODELS.items():
            config = cut(o.source, model, changes, o.memory >= LARGE)
            write_tokens(os.path.join(o.out, f"{name}-tokens"), config["vocab_size"],
                         o.steps * LARGEST_BATCH * SEQ + 1)
            table.write(f"{name}\t{micro}\t{GLOBAL_BATCH // micro}\n")
            with open(os.path.join(o.out, name + ".json"), "w", encoding="utf-8") as file:
                json.dump(config, file, indent=1)
    with open(os.path.join(o.out, "curve.json"), "w", encoding="utf-8") as file:
        json.dump(cut(o.source, *CURVE, False), file, indent=1)


if __name__ == "__main__":
    main()
