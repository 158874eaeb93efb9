#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Goals against what gpu_all.sh measured, from the files in its output folder.

  gpu_summary.py OUT [--markdown summary.md]

A goal is met by the worst of its figures; what has no file, or none of its lines, is 'not measured'."""
import argparse
import glob
import json
import os
import statistics

# cuDNN 9.19 on an H200, causal, 64 query and 8 key heads of 128: TFLOP/s that NVIDIA published
# (cudnn-frontend, benchmark/sdpa_benchmark_training), by sequence length.
CUDNN = {"attention": {4096: 591, 8192: 644, 16384: 673, 32768: 688},
         "attention_bwd": {},  # deterministic; the published figures are not
         "attention_bwd in any order": {4096: 474, 8192: 541, 16384: 579, 32768: 581}}
MODELS = ["mixtral", "qwen3", "deepseek"]
GROUPED = ["grouped forward", "grouped dgrad", "grouped wgrad"]
ROWS = ["rms_norm", "rms_norm_bwd+residual", "swiglu", "swiglu_bwd", "rope", "rope interleaved", "ce_stats",
        "ce_loss", "permute", "permute_bwd", "unpermute", "unpermute_bwd", "cast fp32 to bf16"]


def lines_of(path):
    found = []
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    value = json.loads(line)
                except ValueError:
                    continue
                if isinstance(value, dict):
                    found.append(value)
    return found


def last_object(path):
    """The last JSON object of a file that has other output as well."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    for begin in reversed([i for i in range(len(text)) if text.startswith("{", i) and text[i - 1:i] in ("", "\n")]):
        try:
            return json.JSONDecoder().raw_decode(text[begin:])[0]
        except ValueError:
            continue
    return None


class Output:
    def __init__(self, folder):
        self.folder = folder
        self.kernels = [x for x in lines_of(self.path("benchmarks.txt")) if "shape" in x]
        self.status = {}
        if os.path.exists(self.path("status.tsv")):
            with open(self.path("status.tsv"), encoding="utf-8") as file:
                for line in file:
                    name, status, seconds = line.rstrip("\n").split("\t")
                    self.status[name] = (int(status), float(seconds))

    def path(self, name):
        return os.path.join(self.folder, name)

    def values(self, field, kernels, accept=lambda shape: True):
        """(value, where) of benchmark lines."""
        return [(x[field], f"{x['kernel']}, {x['shape']}") for x in self.kernels
                if x["kernel"] in kernels and field in x and accept(x["shape"])]

    def starting(self, start):
        return [x["kernel"] for x in self.kernels if x["kernel"].startswith(start)]

    def train(self, name):
        return last_object(self.path(f"train-{name}.txt"))

    def steps(self, name):
        return lines_of(self.path(f"train-{name}.steps.jsonl"))

    def rate(self, name, field):
        """The median of the steps after the first four."""
        steps = [s[field] for s in self.steps(name)[4:]]
        return statistics.median(steps) if steps else None


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, goal, figures, at_least=None, at_most=None, form="{:.3f}"):
        """figures: (value, where), of which the worst decides."""
        figures = [f for f in figures if f[0] is not None]
        if not figures:
            self.rows.append((what, goal, "not measured", ""))
            return
        worst = min(figures) if at_least is not None else max(figures)
        met = worst[0] >= at_least if at_least is not None else worst[0] <= at_most
        where = f" ({worst[1]})" if worst[1] else ""
        count = f", worst of {len(figures)}" if len(figures) > 1 else ""
        self.rows.append((what, goal, form.format(worst[0]) + where + count, "met" if met else "MISSED"))

    def passed(self, what, out, step):
        if step not in out.status:
            self.rows.append((what, "passes", "not measured", ""))
            return
        status, seconds = out.status[step]
        self.rows.append((what, "passes", f"exit status {status} after {seconds:.0f} s",
                          "met" if status == 0 else "MISSED"))

    def markdown(self):
        head = ["| what | goal | measured | |", "|---|---|---|---|"]
        return "\n".join(head + ["| " + " | ".join(row) + " |" for row in self.rows]) + "\n"

    def text(self):
        widths = [max(len(row[i]) for row in self.rows) for i in range(2)]
        return "".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {d or '-':<6}  {c}\n" for a, b, c, d in self.rows)


def add_kernels(t, out):
    dense = ["gemm", "gemm dgrad", "gemm wgrad"]
    t.add("dense bf16 GEMM", ">= 98% of cuBLASLt's best", out.values("of_reference", dense), at_least=0.98)
    t.add("dense fp8 GEMM", ">= 98% of cuBLASLt's best", out.values("of_reference", out.starting("gemm fp8")),
          at_least=0.98)
    t.add("grouped GEMM bf16, >= 512 tokens an expert", ">= 85% of one dense product",
          out.values("of_reference", GROUPED), at_least=0.85)
    t.add("grouped GEMM bf16, Mixtral", ">= 90% of one dense product",
          out.values("of_reference", GROUPED, lambda shape: shape.startswith("Mixtral")), at_least=0.90)
    t.add("grouped GEMM fp8", "(no goal: of one dense fp8 product)",
          out.values("of_reference", out.starting("grouped fp8")), at_least=0)
    add_attention(t, out)
    t.add("norms, SwiGLU, RoPE, cross entropy, permutation, casts", ">= 85% of copy bandwidth",
          out.values("of_copy", ROWS + out.starting("quantize")), at_least=0.85)
    t.add("norms and SwiGLU that quantise", ">= 85% of copy bandwidth",
          out.values("of_copy", ["rms_norm+quantize", "rms_norm+residual+quantize", "swiglu+quantize"]),
          at_least=0.85)
    wide = lambda tokens: lambda shape: shape.startswith(f"{tokens} tokens, E 256, k 8")
    t.add("router, E 256, k 8, 256 K tokens", ">= 60% of copy bandwidth",
          out.values("of_copy", ["router_topk"], wide(262144)), at_least=0.60)
    t.add("router, E 256, k 8, 4,096 tokens", "<= 10 us", out.values("us", ["router_topk"], wide(4096)),
          at_most=10, form="{:.1f} us")
    t.add("AdamW", ">= 90% of copy bandwidth",
          out.values("of_copy", ["adamw fp32", "adamw bf16 gradients"]), at_least=0.90)


def add_attention(t, out):
    torch = {(x["kernel"], x["shape"]): x["us"] for x in lines_of(out.path("pytorch-attention.txt")) if "us" in x}
    for kernel, published in CUDNN.items():
        ratios, of_published = [], []
        for x in out.kernels:
            if x["kernel"] != kernel:
                continue
            sdpa = (kernel.removesuffix(" in any order"), x["shape"])
            if sdpa in torch:
                ratios.append((torch[sdpa] / x["us"], x["shape"]))
            for seq, tflops in published.items():
                if x["shape"].startswith(f"1x{seq}, 64/8 heads of 128, bf16"):
                    of_published.append((x["TFLOPS"] / tflops, x["shape"]))
        t.add(f"{kernel}, 4K to 32K causal", "above PyTorch's SDPA", ratios, at_least=1.0, form="{:.2f}x")
        if not published:
            continue
        t.add(f"{kernel}, 4K to 32K causal", "cuDNN's published on an H200", of_published, at_least=0.97,
              form="{:.2f}x")


def add_training(t, out):
    ratios, steps, memory = [], [], []
    for model in MODELS:
        torch = last_object(out.path(f"pytorch-{model}.txt")) or {}
        rate = out.rate(f"{model}-bf16", "tokens_per_s")
        if rate and "tokens_per_second" in torch:
            ratios.append((rate / torch["tokens_per_second"], model))
        run = out.train(f"{model}-bf16")
        if run and "measured" in run:
            steps.append((abs(run["predicted"]["step_s"] / run["measured"]["step_s"] - 1), model))
        for kind in ("bf16", "graphs", "fp8"):
            run = out.train(f"{model}-{kind}") or {}
            used = run.get("measured", {}).get("device_bytes")
            if used:
                memory.append((abs(run["predicted"]["device_bytes_recorded_routing"] / used - 1), f"{model}-{kind}"))
    t.add("training against PyTorch, tokens/s", ">= 1.2x", ratios, at_least=1.2, form="{:.2f}x")
    for model, goal in (("mixtral", 0.45), ("qwen3", 0.32)):
        t.add(f"MFU, {model}-shaped", f">= {goal:.0%}", [(out.rate(f"{model}-bf16", "mfu"), "")],
              at_least=goal, form="{:.1%}")
    faster = []
    for model in MODELS:
        wide, narrow = (out.rate(f"{model}-{kind}", "tokens_per_s") for kind in ("bf16", "fp8"))
        if wide and narrow:
            faster.append((narrow / wide, model))
    t.add("fp8 against bf16, tokens/s", "faster", faster, at_least=1.0, form="{:.2f}x")
    curve = last_object(out.path("curve.txt"))
    t.add("200 steps of bf16 against fp32's losses", "within 1%",
          [(curve["worst"], "")] if curve else [], at_most=0.01, form="{:.2%}")
    t.add("predicted step time", "within 5%", steps, at_most=0.05, form="{:.1%}")
    t.add("predicted device memory", "within 1% of what the driver says", memory, at_most=0.01, form="{:.1%}")


def add_calibration(t, out):
    files = glob.glob(out.path("*-pleat.samples"))
    residuals = []
    if files:
        with open(files[0], encoding="utf-8") as file:
            residuals = json.load(file)["residuals"]
    compute = {"gemm", "grouped_gemm", "gemm fp8", "grouped_gemm fp8"}
    memory = {"memory_bound", "norm", "activation", "loss", "router", "permute", "quantize", "optimizer", "rope",
              "head_norm", "sweep", "convert", "dequantize"}
    attention = {"attention_fwd", "attention_bwd"}
    for what, families, goal in (("GEMM", compute, 0.04), ("attention", attention, 0.05), ("memory-bound", memory, 0.08)):
        t.add(f"calibration, held-out {what}, median", f"<= {goal:.0%}",
              [(r["held_out_median"], r.get("kind", r["family"])) for r in residuals if r["family"] in families],
              at_most=goal, form="{:.1%}")
    done = out.status.get("calibration")
    t.add("calibration takes", "< 10 minutes", [(done[1], "")] if done and done[0] == 0 else [], at_most=600,
          form="{:.0f} s")


def summary(folder):
    out, t = Output(folder), Table()
    for what, step in (("conformance on the GPU", "conformance"), ("training on the GPU against the CPU", "executor"),
                       ("compute-sanitizer memcheck", "sanitizer-memcheck"),
                       ("compute-sanitizer racecheck", "sanitizer-racecheck")):
        t.passed(what, out, step)
    add_kernels(t, out)
    add_training(t, out)
    add_calibration(t, out)
    for model in MODELS:
        t.passed(f"operations of {model}, predicted and measured", out, f"compare-{model}")
    return t


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out")
    p.add_argument("--markdown")
    o = p.parse_args()
    t = summary(o.out)
    print(t.text(), end="")
    states = [row[3] for row in t.rows]
    print(f"{states.count('met')} goals met, {states.count('MISSED')} missed, {states.count('')} not measured")
    if o.markdown:
        with open(o.markdown, "w", encoding="utf-8") as file:
            file.write(t.markdown())


if __name__ == "__main__":
    main()
