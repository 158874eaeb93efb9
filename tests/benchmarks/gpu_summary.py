#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Goals against what gpu_all.sh measured, from the files in its output folder.

  gpu_summary.py OUT [--markdown summary.md]

A goal is met by the worst of its figures, and PARTLY where some of what it is about has none; what has no file, or
none of its lines, is 'not measured'; what has no goal is only shown."""
import argparse
import glob
import json
import os
import statistics

# cuDNN 9.19 on an H200, causal, 64 query and 8 key heads of 128: TFLOP/s that NVIDIA published
# (cudnn-frontend, benchmark/sdpa_benchmark_training), by sequence length.
CUDNN = {"attention": {4096: 591, 8192: 644, 16384: 673, 32768: 688},
         "attention_bwd in any order": {4096: 474, 8192: 541, 16384: 579, 32768: 581}}
MODELS = ["mixtral", "qwen3", "deepseek"]
KINDS = {"bf16": "eager", "graphs": "graphs", "order": "eager in any order", "batch32": "in any order, 32 sequences",
         "whole": "one graph", "fp8": "fp8", "fp8_delayed": "fp8, delayed scales"}
# Like with like: of Pleat's kinds the fastest, PyTorch's run, and what both have in common. PyTorch's usual run adds up
# attention's gradients in any order.
BESIDE_TORCH = [(("order",), "", "in any order"), (("bf16", "graphs", "whole"), "-deterministic", "the same bits every time"),
                (("batch32",), "-batch32", "in any order, 32 sequences a step")]
GROUPED = ["grouped forward", "grouped dgrad", "grouped wgrad"]
ROWS = ["rms_norm", "rms_norm_bwd", "rms_norm+residual", "rms_norm_bwd+residual", "swiglu", "swiglu_bwd", "rope",
        "rope inverse", "rope interleaved", "rope interleaved inverse", "ce_stats", "ce_loss", "permute", "permute_bwd", "unpermute",
        "unpermute_bwd", "cast fp32 to bf16", "cast bf16 to fp32", "merge_pieces", "transpose codes"]
QUANTISED = ["rms_norm+quantize", "rms_norm+residual+quantize", "swiglu+quantize"]
# Who is to take what in bf16 on Hopper (kernels/cuda/implementation.cpp's names).
LIBRARIES = {"gemm": ["cuBLASLt"], "grouped": ["cuBLASLt, groups", "CUTLASS"], "attention": ["cuDNN"],
             "mla_attention": ["cuDNN"]}


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
        lines = [x for file in sorted(glob.glob(self.path("benchmarks*.txt"))) for x in lines_of(file)]
        self.kernels = [x for x in lines if "us" in x]
        self.broken = [x for x in lines if "error" in x]
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

    def tests(self, step):
        """What gpu_tests.py says at its end."""
        return next((x for x in reversed(lines_of(self.path(step + ".txt"))) if "program" in x), None)

    def train(self, name):
        return last_object(self.path(f"train-{name}.txt"))

    def micro_batch(self, model, otherwise):
        """Pleat's."""
        if os.path.exists(self.path("models.tsv")):
            with open(self.path("models.tsv"), encoding="utf-8") as file:
                for line in file:
                    name, micro, _ = line.split("\t")
                    otherwise = int(micro) if name == model else otherwise
        return otherwise

    def steps(self, name):
        return lines_of(self.path(f"train-{name}.steps.jsonl"))

    def rate(self, name, field):
        """The median of the steps after the first four."""
        steps = [s[field] for s in self.steps(name)[4:]]
        return statistics.median(steps) if steps else None


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, goal, figures, at_least=None, at_most=None, form="{:.3f}", parts=()):
        """figures: (value, where), of which the worst decides; parts: how some `where` begins for each."""
        figures = [f for f in figures if f[0] is not None]
        if not figures:
            self.rows.append((what, goal, "not measured", ""))
            return
        worst = min(figures) if at_least is not None else max(figures)
        met = worst[0] >= at_least if at_least is not None else worst[0] <= at_most
        where = f" ({worst[1]})" if worst[1] else ""
        count = f", worst of {len(figures)}" if len(figures) > 1 else ""
        missing = [p for p in parts if not any(f[1] == p or f[1].startswith((p + ", ", p + "-")) for f in figures)]
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        without = f", without {', '.join(missing[:3])}{more}" if missing else ""
        state = "MISSED" if not met else "PARTLY" if missing else "met"
        self.rows.append((what, goal, form.format(worst[0]) + where + count + without, state))

    def passed(self, what, out, *steps):
        if any(step not in out.status for step in steps):
            self.rows.append((what, "passes", "not measured", ""))
            return
        status = max(out.status[step][0] for step in steps)
        seconds = sum(out.status[step][1] for step in steps)
        text = f"exit status {status} after {seconds:.0f} s"
        counts = [tests for step in steps if (tests := out.tests(step))]
        if counts:
            text += ", " + ", ".join(f"{sum(c[k] for c in counts)} {k}" for k in ("passed", "skipped"))
            failed = [name for c in counts for name in c["failed"]]
            text += f", {len(failed)} failed" + (f" ({failed[0]} first)" if failed else "")
            text += "".join(f", {c['not_run']} not run" for c in counts if c["not_run"])
        self.rows.append((what, "passes", text, "met" if status == 0 else "MISSED"))

    def show(self, what, text):
        """Without a goal."""
        self.rows.append((what, "-", text or "not measured", ""))

    def markdown(self):
        head = ["| what | goal | measured | |", "|---|---|---|---|"]
        return "\n".join(head + ["| " + " | ".join(row) + " |" for row in self.rows]) + "\n"

    def text(self):
        widths = [max(len(row[i]) for row in self.rows) for i in range(2)]
        return "".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {d or '-':<6}  {c}\n" for a, b, c, d in self.rows)


def add_kernels(t, out):
    dense = ["gemm", "gemm dgrad", "gemm wgrad"]
    t.add("dense bf16 GEMM", ">= 98% of cuBLASLt's best", out.values("of_reference", dense), at_least=0.98,
          parts=dense)
    narrow = out.starting("gemm fp8") + out.starting("gemm mxfp8")
    gradients = [k for k in narrow if k.endswith(("dgrad", "wgrad"))]
    t.add("dense fp8 GEMM", ">= 98% of cuBLASLt's best",
          out.values("of_reference", [k for k in narrow if k not in gradients]), at_least=0.98)
    t.show("dense fp8 GEMM of gradients, transposes included", worst_of(out.values("of_reference", gradients)))
    # A weight gradient of few rows moves more bytes than the product takes time for: beside the slower of both.
    t.add("grouped GEMM bf16, >= 512 tokens an expert", ">= 85% of the slower of one dense product and its bytes",
          out.values("of_roofline", GROUPED), at_least=0.85, parts=GROUPED)
    t.show("the same of one dense product, whatever it moves", worst_of(out.values("of_reference", GROUPED)))
    t.add("grouped GEMM bf16, Mixtral", ">= 90% of one dense product",
          out.values("of_reference", GROUPED, lambda shape: shape.startswith("Mixtral")), at_least=0.90,
          parts=GROUPED)
    t.show("grouped GEMM fp8, of one dense fp8 product", worst_of(out.values("of_reference", out.starting("grouped fp8"))))
    add_attention(t, out)
    t.add("norms, SwiGLU, RoPE, cross entropy, permutation, casts", ">= 85% of copy bandwidth",
          out.values("of_copy", ROWS + out.starting("quantize")), at_least=0.85, parts=ROWS)
    t.add("norms and SwiGLU that quantise", ">= 85% of copy bandwidth", out.values("of_copy", QUANTISED), at_least=0.85,
          parts=QUANTISED)
    t.show("the same and quantising, every operand counted once",
           worst_of(out.values("least_of_copy", QUANTISED + out.starting("quantize"))))
    wide = lambda tokens: lambda shape: shape.startswith(f"{tokens} tokens, E 256, k 8")
    t.add("router, E 256, k 8, 256 K tokens", ">= 60% of copy bandwidth",
          out.values("of_copy", ["router_topk"], wide(262144)), at_least=0.60)
    t.add("router, E 256, k 8, 4,096 tokens", "<= 10 us", out.values("us", ["router_topk"], wide(4096)),
          at_most=10, form="{:.1f} us")
    adamw = ["adamw fp32", "adamw fp32 with weights", "adamw bf16 gradients"]
    t.add("AdamW", ">= 90% of copy bandwidth",
          out.values("of_copy", adamw), at_least=0.90, parts=adamw)


def worst_of(figures):
    if not figures:
        return ""
    value, where = min(figures)
    return f"{value:.3f} ({where})" + (f", worst of {len(figures)}" if len(figures) > 1 else "")


def add_takers(t, out):
    """Products and attention that our own kernels have taken in a library's place."""
    ours, seen = [], 0
    for x in out.kernels:
        kind = next((k for k in LIBRARIES if x["kernel"].split(" ")[0].removesuffix("_bwd") == k), None)
        if kind is None or "by" not in x or any(w in x["kernel"] + x["shape"] for w in ("fp8", "fp32", "codes")):
            continue
        seen += 1
        if x["by"] not in LIBRARIES[kind]:
            ours.append(f"{x['kernel']}, {x['shape']}: {x['by']}")
    t.add("bf16 products and attention in the benchmarks", "by libraries' kernels",
          [(len(ours), ours[0] if ours else f"of {seen}")] if seen else [], at_most=0, form="{} by our own")


def add_attention(t, out):
    torch = {(x["kernel"], x["shape"]): x["us"] for x in lines_of(out.path("pytorch-attention.txt")) if "us" in x}

    def beside_torch(kernel):
        sdpa = kernel.removesuffix(" in any order")
        return [(torch[sdpa, x["shape"]] / x["us"], x["shape"])
                for x in out.kernels if x["kernel"] == kernel and (sdpa, x["shape"]) in torch]

    for kernel, published in CUDNN.items():
        lengths = [f"1x{seq}" for seq in published]
        t.add(f"{kernel}, 4K to 32K causal", "above PyTorch's SDPA", beside_torch(kernel), at_least=1.0, form="{:.2f}x",
              parts=lengths)
        of_published = [(x["TFLOPS"] / tflops, x["shape"]) for x in out.kernels for seq, tflops in published.items()
                        if x["kernel"] == kernel and x["shape"].startswith(f"1x{seq}, 64/8 heads of 128, bf16")]
        t.add(f"{kernel}, 4K to 32K causal", ">= 97% of cuDNN's published on an H200", of_published, at_least=0.97,
              form="{:.2f}x", parts=lengths)
    t.show("attention_bwd, the same bits every time, over PyTorch's in any order",
           worst_of(beside_torch("attention_bwd")))
    for kernel in ("mla_attention", "mla_attention_bwd in any order"):
        t.add(f"{kernel}, heads of 192/128", "above PyTorch's SDPA", beside_torch(kernel), at_least=1.0, form="{:.2f}x")
    t.show("mla_attention_bwd, the same bits every time, over PyTorch's in any order",
           worst_of(beside_torch("mla_attention_bwd")))
    t.add("attention of fp8 codes, conversions included", "faster than bf16's",
          out.values("of_reference", ["attention in codes"]), at_least=1.0, form="{:.2f}x")


def add_beside_torch(t, out):
    """Pleat's rate over PyTorch's, where both do the same work; a microbatch that PyTorch had to halve is said."""
    for kinds, run, what in BESIDE_TORCH:
        ratios = []
        for model in MODELS:
            torch = last_object(out.path(f"pytorch-{model}{run}.txt")) or {}
            rates = [(rate, kind) for kind in kinds if (rate := out.rate(f"{model}-{kind}", "tokens_per_s"))]
            if not rates or "tokens_per_second" not in torch:
                continue
            rate, kind = max(rates)
            micro = torch.get("microbatch")
            halved = f", PyTorch's microbatch {micro}" if micro != out.micro_batch(model, micro) else ""
            ratios.append((rate / torch["tokens_per_second"], f"{model}, {KINDS[kind]}{halved}"))
        t.add(f"training against PyTorch, tokens/s, {what}", ">= 1.2x", ratios, at_least=1.2, form="{:.2f}x", parts=MODELS)


def add_training(t, out):
    steps, memory, mfu = [], [], {}
    for model in MODELS:
        rates = {kind: rate for kind in KINDS if (rate := out.rate(f"{model}-{kind}", "tokens_per_s"))}
        shown = [f"{KINDS[kind]} {rate:.0f}" for kind, rate in rates.items()]
        for _, run, what in BESIDE_TORCH:
            torch = (last_object(out.path(f"pytorch-{model}{run}.txt")) or {}).get("tokens_per_second")
            shown += [f"PyTorch {what} {torch:.0f}"] if torch else []
        t.show(f"tokens/s, {model}-shaped", "; ".join(shown))
        wide = [(rate, kind) for kind, rate in rates.items() if not kind.startswith("fp8")]
        if wide:
            mfu[model] = (out.rate(f"{model}-{max(wide)[1]}", "mfu"), KINDS[max(wide)[1]])
        run = out.train(f"{model}-bf16")
        if run and "measured" in run:
            # With the profile that was calibrated after the training, where there is one.
            predicted = (last_object(out.path(f"predict-{model}.txt")) or run["predicted"])["step_s"]
            steps.append((abs(predicted / run["measured"]["step_s"] - 1), model))
        for kind in KINDS:
            run = out.train(f"{model}-{kind}") or {}
            used = run.get("measured", {}).get("device_bytes")
            if used:
                memory.append((abs(run["predicted"]["device_bytes_recorded_routing"] / used - 1), f"{model}-{kind}"))
    add_beside_torch(t, out)
    for model, goal in (("mixtral", 0.45), ("qwen3", 0.32)):
        t.add(f"MFU, {model}-shaped", f">= {goal:.0%}", [mfu[model]] if model in mfu else [], at_least=goal,
              form="{:.1%}")
    faster = []
    for model in MODELS:
        wide, narrow = (out.rate(f"{model}-{kind}", "tokens_per_s") for kind in ("bf16", "fp8"))
        if wide and narrow:
            faster.append((narrow / wide, model))
    t.add("fp8 against bf16, tokens/s", "faster", faster, at_least=1.0, form="{:.2f}x", parts=MODELS)
    curve = last_object(out.path("curve.txt"))
    t.add("200 steps of bf16 against fp32's losses", "within 1%",
          [(curve["worst"], "")] if curve else [], at_most=0.01, form="{:.2%}")
    t.add("predicted step time", "within 5%", steps, at_most=0.05, form="{:.1%}", parts=MODELS)
    t.add("predicted device memory", "within 1% of what the driver says", memory, at_most=0.01, form="{:.1%}",
          parts=MODELS)


def add_calibration(t, out):
    files = glob.glob(out.path("*-pleat.samples"))
    residuals = []
    if files:
        with open(files[0], encoding="utf-8") as file:
            residuals = json.load(file)["residuals"]
    compute = {"gemm", "grouped_gemm", "gemm fp8 tensor", "gemm fp8 blocks", "grouped_gemm fp8"}
    memory = {"memory_bound", "norm", "activation", "loss", "router", "permute", "quantize", "optimizer", "rope",
              "head_norm", "sweep", "convert", "dequantize", "router_bwd", "embedding"}
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
    t.passed("cuDNN's, cuBLASLt's and CUTLASS's kernels are what runs", out, "facts")
    t.passed("conformance on the GPU", out, "conformance")
    t.passed("norms, SwiGLU and large matrices on the GPU", out, "elementwise")
    large = [x for x in lines_of(out.path("elementwise.tests.jsonl")) if "LargeIndex" in x.get("test", "")]
    t.add("matrices beyond 2^31 elements", "pass", [(x["state"] != "passed", x["state"]) for x in large[-1:]], at_most=0,
          form="{:d} failed")
    t.passed("training on the GPU against the CPU", out, "executor")
    t.passed("compute-sanitizer memcheck of grouped products and permutations", out, "memcheck")
    for tool in ("memcheck", "racecheck"):
        t.passed(f"compute-sanitizer {tool}", out, *[f"sanitizer-{tool}-{of}" for of in ("control", "conformance", "elementwise")])
    add_takers(t, out)
    t.add("benchmarks that broke off", "none", [(len(out.broken), f"{x['kernel']}: {x['error']}")
                                                for x in out.broken[:1]] or [(0, "")] * bool(out.kernels), at_most=0,
          form="{}")
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
    missing = [row[0] for row in t.rows if row[2] == "not measured"]
    print(f"{states.count('met')} goals met, {states.count('MISSED')} missed, "
          f"{states.count('PARTLY')} in part, {len(missing)} rows not measured")
    if o.markdown:
        with open(o.markdown, "w", encoding="utf-8") as file:
            file.write(t.markdown())


if __name__ == "__main__":
    main()
