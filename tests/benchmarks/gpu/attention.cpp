// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Causal attention of grouped heads and of MLA, forward and backward.
#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "tests/benchmarks/gpu/bench.hpp"

namespace pleat::bench {
namespace {

void grouped_heads(Bench& b, DType type, std::int64_t batch, std::int64_t seq, std::int64_t heads,
                   std::int64_t groups, std::int64_t d) {
  const AttentionShape s{batch, seq, heads, groups, d, 1 / std::sqrt(static_cast<double>(d))};
  const std::int64_t rows = batch * seq;
  const View qkv = b.random(type, rows, s.columns()), o = b.random(type, rows, heads * d);
  const View d_o = b.random(type, rows, heads * d), dqkv = b.random(type, rows, s.columns());
  const View lse = b.random(DType::fp32, rows, heads);
  const double flops = 2.0 * static_cast<double>(batch * heads) * static_cast<double>(seq) *
                       static_cast<double>(seq) * static_cast<double>(d);  // half of 4 b h s² d
  const std::string shape = fmt::format("{}x{}, {}/{} heads of {}, {}", batch, seq, heads, groups, d,
                                        type == DType::bf16 ? "bf16" : "fp32");
  b.compute_bound("attention", shape, flops, 0, "", [&] { b.kernels().attention(qkv, o, lse, s); });
  b.compute_bound("attention_bwd", shape, 2.5 * flops, 0, "",
                  [&] { b.kernels().attention_bwd(d_o, qkv, o, lse, dqkv, s); });
  const auto any_order = cuda_kernels(b.device(), {.deterministic_attention = false});
  b.compute_bound("attention_bwd in any order", shape, 2.5 * flops, 0, "",
                  [&] { any_order->attention_bwd(d_o, qkv, o, lse, dqkv, s); });
  b.release_all();
}

// Codes made of bf16 operands, attention of codes, and o in bf16 again, beside bf16's.
void heads_in_codes(Bench& b, std::int64_t batch, std::int64_t seq, std::int64_t heads,
                    std::int64_t groups, std::int64_t d) {
  const AttentionShape s{batch, seq, heads, groups, d, 1 / std::sqrt(static_cast<double>(d))};
  const std::int64_t rows = batch * seq, share = heads / groups;
  const View qkv = b.random(DType::bf16, rows, s.columns());
  const View o = b.random(DType::bf16, rows, heads * d), lse = b.random(DType::fp32, rows, heads);
  std::vector<std::int32_t> visible;
  for (std::int64_t r = 0; r < rows; ++r) {
    visible.insert(visible.end(), {0, static_cast<std::int32_t>(r % seq + 1)});
  }
  const AttentionPiece p{
      .batch = batch,
      .heads = heads,
      .scale = s.scale,
      .q = {{.x = qkv, .first = 0, .stride = d, .width = d}, {}},
      .k = {{.x = qkv, .first = heads * d, .stride = d, .width = d, .share = share}, {}},
      .v = {.x = qkv, .first = (heads + groups) * d, .stride = d, .width = d, .share = share},
      .visible = reinterpret_cast<const std::int32_t(*)[2]>(visible.data()),
      .math = DType::fp8};
  const double flops = 2.0 * static_cast<double>(batch * heads) * static_cast<double>(seq) *
                       static_cast<double>(seq) * static_cast<double>(d);
  const std::string shape =
      fmt::format("{}x{}, {}/{} heads of {}, fp8", batch, seq, heads, groups, d);
  const double wide = b.median_seconds([&] { b.kernels().attention(qkv, o, lse, s); });
  b.compute_bound("attention in codes", shape, flops, wide, "bf16", [&] {
    b.kernels().attention_piece(p, {.x = o, .first = 0, .stride = d, .width = d}, lse, false);
  });
  b.release_all();
}

void mla(Bench& b, std::int64_t batch, std::int64_t seq, std::int64_t heads) {
  const MlaShape s{.batch = batch, .seq = seq, .heads = heads, .nope = 128, .rope = 64, .v = 128,
                   .kv_lora = 512, .scale = 0.072};
  const std::int64_t rows = batch * seq;
  const View q = b.random(DType::bf16, rows, heads * 192), kv = b.random(DType::bf16, rows, heads * 256);
  const View kpe = b.random(DType::bf16, rows, 576), o = b.random(DType::bf16, rows, heads * 128);
  const View d_o = b.random(DType::bf16, rows, heads * 128), lse = b.random(DType::fp32, rows, heads);
  const View dq = b.random(DType::bf16, rows, heads * 192), dkv = b.random(DType::bf16, rows, heads * 256);
  const View dkpe = b.random(DType::bf16, rows, 576);
  const double pairs = 0.5 * static_cast<double>(batch * heads) * static_cast<double>(seq) *
                       static_cast<double>(seq);
  const std::string shape = fmt::format("{}x{}, {} heads of 192/128 bf16", batch, seq, heads);
  b.compute_bound("mla_attention", shape, pairs * 2 * (192 + 128), 0, "",
                  [&] { b.kernels().mla_attention(q, kv, kpe, o, lse, s); });
  b.compute_bound("mla_attention_bwd", shape, pairs * 2 * (3 * 192 + 2 * 128), 0, "", [&] {
    b.kernels().mla_attention_bwd(d_o, q, kv, kpe, o, lse, dq, dkv, dkpe, s);
  });
  b.release_all();
}

}  // namespace

void attention_kernels(Bench& b) {
  if (!b.wanted("attention")) return;
  for (const std::int64_t seq : {4096, 8192, 16384, 32768}) {
    grouped_heads(b, DType::bf16, 32768 / seq, seq, 32, 8, 128);
  }
  // What NVIDIA has published of cuDNN on an H200.
  for (const std::int64_t seq : {4096, 8192, 16384, 32768}) {
    grouped_heads(b, DType::bf16, 1, seq, 64, 8, 128);
  }
  grouped_heads(b, DType::bf16, 4, 4096, 32, 4, 128);
  for (const std::int64_t seq : {8192, 32768}) heads_in_codes(b, 1, seq, 64, 8, 128);
  grouped_heads(b, DType::fp32, 1, 2048, 8, 2, 128);  // our own kernel
  mla(b, 2, 4096, 128);
  mla(b, 1, 8192, 128);
}

}  // namespace pleat::bench
