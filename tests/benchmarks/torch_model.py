# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Mixtral-, Qwen3-MoE- and DeepSeek-V3-shaped models in PyTorch, from the config.json that Pleat reads:
attention through scaled_dot_product_attention, experts through grouped_mm on tokens sorted by expert.
Random weights; no dropout, no balance loss."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from torch_sdpa import Way, causal


class Rope:
    """Angles of the half-split (Llama) rotation, as tables of cosines and sines."""

    def __init__(self, dim, theta, seq, device):
        power = torch.arange(0, dim, 2, device=device, dtype=torch.float32) / dim
        angle = torch.outer(torch.arange(seq, device=device, dtype=torch.float32), theta**-power)
        self.cos, self.sin = angle.cos().repeat(1, 2), angle.sin().repeat(1, 2)

    def __call__(self, x):  # [batch, heads, seq, dim]
        half = x.shape[-1] // 2
        turned = torch.cat((-x[..., half:], x[..., :half]), -1)
        return (x * self.cos + turned * self.sin).to(x.dtype)


def linear(out, inner, device, dtype):
    return nn.Linear(inner, out, bias=False, device=device, dtype=dtype)


def attention_shape(c, microbatch, seq):
    """For torch_sdpa.fastest."""
    heads = c["num_attention_heads"]
    if "kv_lora_rank" in c:
        return microbatch, heads, heads, seq, c["qk_nope_head_dim"] + c["qk_rope_head_dim"], c["v_head_dim"]
    width = c.get("head_dim") or c["hidden_size"] // heads
    return microbatch, heads, c["num_key_value_heads"], seq, width, width


class Dispatch(torch.autograd.Function):
    """Rows of tokens for their experts, and back. PyTorch's own gradient adds bf16 by atomics; this one gathers."""

    @staticmethod
    def forward(ctx, tokens, order, inverse, k):
        ctx.save_for_backward(inverse)
        ctx.k = k
        return tokens[order // k]

    @staticmethod
    def backward(ctx, grad):
        (inverse,) = ctx.saved_tensors
        return grad[inverse].view(-1, ctx.k, grad.shape[-1]).sum(1), None, None, None


class Combine(torch.autograd.Function):
    """The sum of a token's rows, and back."""

    @staticmethod
    def forward(ctx, rows, order, inverse, k):
        ctx.save_for_backward(order)
        ctx.k = k
        return rows[inverse].view(-1, k, rows.shape[-1]).sum(1)

    @staticmethod
    def backward(ctx, grad):
        (order,) = ctx.saved_tensors
        return grad[order // ctx.k], None, None, None


grouped_mm = getattr(F, "grouped_mm", None) or torch._grouped_mm


class Attention(nn.Module):
    """Grouped queries; heads normalised where the model does so."""

    def __init__(self, c, device, dtype, way):
        super().__init__()
        self.way = way
        self.heads, self.groups = c["num_attention_heads"], c["num_key_value_heads"]
        self.dim = c.get("head_dim") or c["hidden_size"] // self.heads
        self.qkv = linear((self.heads + 2 * self.groups) * self.dim, c["hidden_size"], device, dtype)
        self.out = linear(c["hidden_size"], self.heads * self.dim, device, dtype)
        self.norms = None
        if c["model_type"] == "qwen3_moe":
            norm = lambda: nn.RMSNorm(self.dim, c["rms_norm_eps"], device=device, dtype=dtype)
            self.norms = nn.ModuleList([norm(), norm()])

    def forward(self, x, rope):
        b, s, _ = x.shape
        q, k, v = self.qkv(x).view(b, s, -1, self.dim).split((self.heads, self.groups, self.groups), 2)
        if self.norms is not None:
            q, k = self.norms[0](q), self.norms[1](k)
        q, k, v = rope(q.transpose(1, 2)), rope(k.transpose(1, 2)), v.transpose(1, 2)
        return self.out(causal(q, k, v, self.way).transpose(1, 2).reshape(b, s, -1))


class LatentAttention(nn.Module):
    """DeepSeek's: low-rank queries and keys, a rotary part that all heads' keys share."""

    def __init__(self, c, device, dtype, way):
        super().__init__()
        self.way = way
        self.heads = c["num_attention_heads"]
        self.nope, self.rope_dim, self.v = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
        self.kv_rank = c["kv_lora_rank"]
        h, eps = c["hidden_size"], c["rms_norm_eps"]
        norm = lambda width: nn.RMSNorm(width, eps, device=device, dtype=dtype)
        self.q_a, self.q_norm = linear(c["q_lora_rank"], h, device, dtype), norm(c["q_lora_rank"])
        self.q_b = linear(self.heads * (self.nope + self.rope_dim), c["q_lora_rank"], device, dtype)
        self.kv_a, self.kv_norm = linear(self.kv_rank + self.rope_dim, h, device, dtype), norm(self.kv_rank)
        self.kv_b = linear(self.heads * (self.nope + self.v), self.kv_rank, device, dtype)
        self.out = linear(h, self.heads * self.v, device, dtype)

    def forward(self, x, rope):
        b, s, _ = x.shape
        q = self.q_b(self.q_norm(self.q_a(x))).view(b, s, self.heads, -1).transpose(1, 2)
        latent, shared = self.kv_a(x).split((self.kv_rank, self.rope_dim), -1)
        kv = self.kv_b(self.kv_norm(latent)).view(b, s, self.heads, -1).transpose(1, 2)
        k, v = kv.split((self.nope, self.v), -1)
        shared = rope(shared.unsqueeze(1)).expand(-1, self.heads, -1, -1)
        q = torch.cat((q[..., : self.nope], rope(q[..., self.nope :])), -1)
        o = causal(q, torch.cat((k, shared), -1), v, self.way)
        return self.out(o.transpose(1, 2).reshape(b, s, -1))


class Mlp(nn.Module):
    def __init__(self, h, f, device, dtype):
        super().__init__()
        self.up, self.down = linear(2 * f, h, device, dtype), linear(h, f, device, dtype)

    def forward(self, x):
        gate, up = self.up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)


class Experts(nn.Module):
    def __init__(self, c, device, dtype):
        super().__init__()
        h, f = c["hidden_size"], c.get("moe_intermediate_size") or c["intermediate_size"]
        self.count = c.get("n_routed_experts") or c.get("num_experts") or c["num_local_experts"]
        self.k = c["num_experts_per_tok"]
        self.sigmoid = c.get("scoring_func") == "sigmoid"
        self.groups, self.top_groups = c.get("n_group") or 1, c.get("topk_group") or 1
        self.factor = c.get("routed_scaling_factor") or 1.0
        self.router = linear(self.count, h, device, torch.float32)
        weight = lambda *shape: nn.Parameter(torch.randn(*shape, device=device, dtype=dtype) * 0.02)
        self.up, self.down = weight(self.count, h, 2 * f), weight(self.count, f, h)
        shared = c.get("n_shared_experts") or 0
        self.shared = Mlp(h, f * shared, device, dtype) if shared else None

    def route(self, x):
        logits = self.router(x.float())
        scores = logits.sigmoid() if self.sigmoid else logits.softmax(-1)
        chosen = scores
        if self.groups > 1:  # only experts of the groups whose two best are the best
            by_group = scores.view(-1, self.groups, self.count // self.groups)
            best = by_group.topk(2, -1).values.sum(-1).topk(self.top_groups, -1).indices
            keep = torch.zeros_like(by_group[..., 0]).scatter_(1, best, 1.0)
            chosen = (by_group * keep.unsqueeze(-1)).view_as(scores)
        experts = chosen.topk(self.k, -1).indices
        probs = scores.gather(1, experts)
        return probs / (probs.sum(-1, keepdim=True) + 1e-20) * self.factor, experts

    def forward(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        probs, experts = self.route(tokens)
        flat = experts.flatten()
        ordered, order = flat.sort(stable=True)
        inverse = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        ends = torch.searchsorted(ordered, torch.arange(self.count, device=order.device), right=True).to(torch.int32)
        rows = Dispatch.apply(tokens, order, inverse, self.k)
        gate, up = grouped_mm(rows, self.up, offs=ends).chunk(2, -1)
        middle = F.silu(gate) * up * probs.flatten()[order].unsqueeze(-1).to(rows.dtype)
        y = Combine.apply(grouped_mm(middle, self.down, offs=ends), order, inverse, self.k)
        if self.shared is not None:
            y = y + self.shared(tokens)
        return y.view_as(x)


class Layer(nn.Module):
    def __init__(self, c, dense, device, dtype, way):
        super().__init__()
        norm = lambda: nn.RMSNorm(c["hidden_size"], c["rms_norm_eps"], device=device, dtype=dtype)
        self.norm1, self.norm2 = norm(), norm()
        latent = "kv_lora_rank" in c
        self.attention = (LatentAttention if latent else Attention)(c, device, dtype, way)
        self.mlp = Mlp(c["hidden_size"], c["intermediate_size"], device, dtype) if dense else Experts(c, device, dtype)

    def forward(self, x, rope):
        x = x + self.attention(self.norm1(x), rope)
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    """Returns the mean loss of the tokens' successors."""

    def __init__(self, c, seq, device, dtype, way=Way()):
        super().__init__()
        h, layers = c["hidden_size"], c["num_hidden_layers"]
        self.embedding = nn.Embedding(c["vocab_size"], h, device=device, dtype=dtype)
        dense = c.get("first_k_dense_replace", 0)
        self.layers = nn.ModuleList([Layer(c, i < dense, device, dtype, way) for i in range(layers)])
        self.norm = nn.RMSNorm(h, c["rms_norm_eps"], device=device, dtype=dtype)
        self.head = linear(c["vocab_size"], h, device, dtype)
        dim = c.get("qk_rope_head_dim") or c.get("head_dim") or h // c["num_attention_heads"]
        self.rope = Rope(dim, c["rope_theta"], seq, device)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens, labels):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.rope)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten())


def flops_per_token(c, seq):
    """Forward and backward: six for every weight that a token is multiplied with (the head's too, the
    embedding's not), and causal attention's two products, half of the square, three times."""
    h, heads = c["hidden_size"], c["num_attention_heads"]
    if "kv_lora_rank" in c:
        width, value = c["qk_nope_head_dim"] + c["qk_rope_head_dim"], c["v_head_dim"]
        rank, kv = c["q_lora_rank"], c["kv_lora_rank"]
        attention = h * rank + rank * heads * width + h * (kv + c["qk_rope_head_dim"])
        attention += kv * heads * (c["qk_nope_head_dim"] + value) + heads * value * h
    else:
        width = value = c.get("head_dim") or h // heads
        attention = h * (2 * heads + 2 * c["num_key_value_heads"]) * width
    f = c.get("moe_intermediate_size") or c["intermediate_size"]
    count = c.get("n_routed_experts") or c.get("num_experts") or c["num_local_experts"]
    sparse = 3 * h * f * (c["num_experts_per_tok"] + (c.get("n_shared_experts") or 0)) + h * count
    layers, dense = c["num_hidden_layers"], c.get("first_k_dense_replace", 0)
    dense = min(dense, layers)
    weights = layers * attention + (layers - dense) * sparse + dense * 3 * h * c["intermediate_size"]
    weights += c["vocab_size"] * h
    return 6 * weights + layers * 6 * heads * (width + value) * seq / 2


def parameters_of(model):
    return sum(p.numel() for p in model.parameters())


def finite(x):
    return math.isfinite(x)
