# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention with the backend that is fastest for a shape, measured: by itself it
takes the first that accepts the operands, for values narrower than keys (MLA) seldom the fastest one."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Way:
    backend: str = ""  # "": PyTorch's own choice
    padded: bool = False  # values as wide as keys, and what is too much of the result cut off

    def name(self):
        return (self.backend or "default") + (", values padded" if self.padded else "")


def use(way):
    """For all attention from now on, also what torch.compile traces later."""
    cuda = torch.backends.cuda
    for backend, enable in (("cudnn", cuda.enable_cudnn_sdp), ("flash", cuda.enable_flash_sdp),
                            ("efficient", cuda.enable_mem_efficient_sdp), ("math", cuda.enable_math_sdp)):
        enable(way.backend in ("", backend))


def causal(q, k, v, way=Way()):
    """q [batch, heads, seq, width], k and v with as many heads or fewer; under use(way)."""
    width = v.shape[-1]
    if way.padded:
        v = F.pad(v, (0, q.shape[-1] - width))
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])
    return o[..., :width] if way.padded else o


def ways(width, value_width):
    return [Way(backend, padded) for backend in ("cudnn", "flash", "efficient")
            for padded in ((False, True) if value_width < width else (False,))]


def operands(batch, heads, groups, seq, width, value_width):
    return [torch.randn(batch, n, seq, w, device="cuda", dtype=torch.bfloat16, requires_grad=True)
            for n, w in ((heads, width), (groups, width), (groups, value_width))]


def median_seconds(work, runs, before=lambda: None):
    seconds = []
    for _ in range(3 + runs):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before()
        begin.record()
        work()
        end.record()
        end.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    return sorted(seconds[3:])[runs // 2]


def times(shape, runs, before=lambda: None):
    """{way: (seconds forward, seconds backward)} of the ways that take batch, heads, groups, seq, width, value_width."""
    found = {}
    q, k, v = operands(*shape)
    for way in ways(*shape[4:]):
        use(way)

        def forward(way=way):
            with torch.no_grad():
                causal(q, k, v, way)

        try:
            o = causal(q, k, v, way)
            grad = torch.randn_like(o)

            def backward(o=o, grad=grad):
                torch.autograd.grad(o, (q, k, v), grad, retain_graph=True)

            found[way] = median_seconds(forward, runs, before), median_seconds(backward, runs, before)
        except RuntimeError:  # it does not take them
            continue
    use(Way())
    return found


def fastest(shape, runs=5):
    """The way whose forward and backward pass together are; PyTorch's own choice where none is known."""
    if not torch.cuda.is_available():
        return Way()
    found = times(shape, runs)
    return min(found, key=lambda way: sum(found[way])) if found else Way()
