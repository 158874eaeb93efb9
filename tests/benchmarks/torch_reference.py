#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Training steps of a model in PyTorch, as a reference for `pleat train` on the same GPU: torch.compile,
scaled_dot_product_attention with the backend that is fastest here, grouped_mm, fused AdamW. Prints one JSON
object.

  torch_reference.py --model mixtral.json --tokens mixtral-tokens.bin --seq 4096 --microbatch 2 --accumulation 4

Where a microbatch does not fit, half of it and twice the accumulation are taken, and said. Weights are bf16, with fp32 main weights, gradients and moments as Pleat has them; --state bf16 leaves those
out, which is less work than Pleat's. --tiny shrinks the model to sizes that a CPU can train."""
import argparse
import gc
import json
import os
import sys
import time

import torch

from torch_model import Model, attention_shape, finite, flops_per_token, parameters_of
from torch_sdpa import Way, fastest, use


def read_config(path, tiny):
    with open(path, encoding="utf-8") as file:
        c = json.load(file)
    if tiny:
        c.update(hidden_size=64, intermediate_size=96, num_attention_heads=4, vocab_size=256, num_hidden_layers=2)
        c["num_key_value_heads"] = 4 if "kv_lora_rank" in c else 2
        for name, value in dict(head_dim=16, moe_intermediate_size=32, n_routed_experts=8, num_experts=8,
                                num_local_experts=4, num_experts_per_tok=2, n_group=4, topk_group=2,
                                first_k_dense_replace=1, q_lora_rank=32, kv_lora_rank=32,
                                qk_nope_head_dim=16, qk_rope_head_dim=16, v_head_dim=16).items():
            if name in c:
                c[name] = value
    return c


def note(what, begun=time.perf_counter()):
    """Where the time goes of a run that is cut off."""
    print(f"{time.perf_counter() - begun:.1f} s: {what}", file=sys.stderr, flush=True)


class Optimizer:
    """Fused AdamW, on fp32 main weights or on the weights themselves."""

    def __init__(self, model, state, lr):
        self.weights = [p for p in model.parameters()]
        self.main = self.weights
        if state == "fp32":
            self.main = [p.detach().float().clone().requires_grad_() for p in self.weights]
            for p in self.main:
                p.grad = torch.zeros_like(p)
        self.adam = torch.optim.AdamW(self.main, lr=lr, betas=(0.9, 0.95), weight_decay=0.1, fused=True)

    def accumulate(self):  # after every microbatch
        if self.main is self.weights:
            return
        torch._foreach_add_([p.grad for p in self.main], [p.grad for p in self.weights])
        for weight in self.weights:
            weight.grad = None

    def step(self):
        torch.nn.utils.clip_grad_norm_(self.main, 1.0, foreach=True)
        self.adam.step()
        if self.main is self.weights:
            self.adam.zero_grad(set_to_none=True)
            return
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.main)
            torch._foreach_zero_([p.grad for p in self.main])


def sequences(o, vocabulary, device):
    """[all, seq + 1]: of the file that Pleat reads too, or random."""
    if not o.tokens:
        return torch.randint(0, vocabulary, (o.accumulation * o.microbatch, o.seq + 1), device=device)
    size = os.path.getsize(o.tokens) // 4
    tokens = torch.from_file(o.tokens, size=size, dtype=torch.int32).to(torch.int64) % vocabulary
    return tokens.unfold(0, o.seq + 1, o.seq).contiguous().to(device)


def batches(data, o):
    """Without end: [microbatch, seq + 1]."""
    at = 0
    while True:
        yield data[torch.arange(at, at + o.microbatch) % len(data)]
        at += o.microbatch


def run(o):
    torch.manual_seed(o.seed)
    if o.deterministic:  # what has no such kernel says so in a warning
        torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_float32_matmul_precision("high")  # the router's product is the only one in fp32
    device = torch.device(o.device)
    c = read_config(o.model, o.tiny)
    note("PyTorch is there")
    way = fastest(attention_shape(c, o.microbatch, o.seq)) if device.type == "cuda" else Way()
    use(way)
    note(f"attention: {way.name()}")
    model = Model(c, o.seq, device, torch.bfloat16, way)
    optimizer = Optimizer(model, o.state, o.lr)
    forward = torch.compile(model) if o.compile else model
    data = batches(sequences(o, c["vocab_size"], device), o)
    sync = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    times, losses = [], []
    note("model and optimizer are made")
    for _ in range(o.warm_up + o.steps):
        sync()
        start = time.perf_counter()
        total = 0.0
        for _ in range(o.accumulation):
            batch = next(data)
            loss = forward(batch[:, :-1], batch[:, 1:])
            (loss / o.accumulation).backward()
            optimizer.accumulate()
            total = total + loss.detach()
        optimizer.step()
        sync()
        times.append(time.perf_counter() - start)
        losses.append(float(total) / o.accumulation)
        note(f"a step of {times[-1]:.3f} s")
    step = sorted(times[o.warm_up:])[o.steps // 2]
    tokens = o.accumulation * o.microbatch * o.seq
    flops = flops_per_token(c, o.seq)
    result = {
        "what": "pytorch", "model": o.model, "model_type": c["model_type"], "layers": c["num_hidden_layers"],
        "parameters": parameters_of(model), "vocabulary": c["vocab_size"], "seq": o.seq,
        "microbatch": o.microbatch, "accumulation": o.accumulation, "state": o.state, "compiled": o.compile,
        "deterministic": o.deterministic,
        "attention": way.name(), "tokens": o.tokens or "random",
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "torch": torch.__version__, "seconds_per_step": step, "all_seconds": times[o.warm_up:],
        "tokens_per_second": tokens / step, "flops_per_token": flops,
        "mfu": tokens / step * flops / (o.peak_tflops * 1e12), "peak_tflops": o.peak_tflops,
        "first_loss": losses[0], "last_loss": losses[-1],
    }
    if device.type == "cuda":
        result["peak_memory_bytes"] = torch.cuda.max_memory_allocated(device)
    if not all(finite(x) for x in losses):
        raise SystemExit(f"losses are not finite: {losses}")
    return result


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", required=True, help="config.json of a Mixtral, Qwen3-MoE or DeepSeek-V3 model")
    p.add_argument("--tokens", help="int32, one after the other: the .bin of an indexed dataset")
    p.add_argument("--seq", type=int, default=4096)
    p.add_argument("--microbatch", type=int, default=1)
    p.add_argument("--accumulation", type=int, default=8)
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--warm-up", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--state", choices=["fp32", "bf16"], default="fp32")
    p.add_argument("--deterministic", action="store_true", help="the same bits every time, as Pleat without any-order")
    p.add_argument("--no-compile", dest="compile", action="store_false")
    p.add_argument("--device", default="cuda")
    p.add_argument("--peak-tflops", type=float, default=989.4, help="of bf16, dense")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--tiny", action="store_true")
    o = p.parse_args()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS's bits may change
    if o.device == "cuda" and not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use; --device cpu --tiny shows that the script runs")
    while True:
        try:
            print(json.dumps(run(o), indent=1))
            return
        except torch.OutOfMemoryError as error:
            if o.microbatch % 2:
                raise
            print(f"microbatch {o.microbatch}: {error}", file=sys.stderr)
        o.microbatch, o.accumulation = o.microbatch // 2, o.accumulation * 2
        gc.collect()
        torch._dynamo.reset()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
