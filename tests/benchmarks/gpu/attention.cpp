// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Causal attention of grouped heads and of MLA, forward and backward, and pieces of it made one.
#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "kernels/cuda/flash.hpp"
#include "kernels/cuda/resources.hpp"
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
  const std::string shape = fmt::format("{}x{}, {}/{} heads of {}, {}", batch, seq, heads, groups,
                                        d, type == DType::bf16 ? "bf16" : "fp32");
  b.compute_bound("attention", shape, flops, 0, "", [&] { b.kernels().attention(qkv, o, lse, s); });
  b.compute_bound("attention_bwd", shape, 2.5 * flops, 0, "",
                  [&] { b.kernels().attention_bwd(d_o, qkv, o, lse, dqkv, s); });
  const auto any_order = cuda_kernels(b.device(), {.deterministic_attention = false});
  b.compute_bound("attention_bwd in any order", shape, 2.5 * flops, 0, "",
                  [&] { any_order->attention_bwd(d_o, qkv, o, lse, dqkv, s); });
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
}

void mla(Bench& b, std::int64_t batch, std::int64_t seq, std::int64_t heads) {
  const MlaShape s{.batch = batch, .seq = seq, .heads = heads, .nope = 128, .rope = 64, .v = 128,
                   .kv_lora = 512, .scale = 0.072};
  const std::int64_t rows = batch * seq;
  const View q = b.random(DType::bf16, rows, heads * 192),
             kv = b.random(DType::bf16, rows, heads * 256);
  const View kpe = b.random(DType::bf16, rows, 576), o = b.random(DType::bf16, rows, heads * 128);
  const View d_o = b.random(DType::bf16, rows, heads * 128),
             lse = b.random(DType::fp32, rows, heads);
  const View dq = b.random(DType::bf16, rows, heads * 192),
             dkv = b.random(DType::bf16, rows, heads * 256);
  const View dkpe = b.random(DType::bf16, rows, 576);
  const double pairs = 0.5 * static_cast<double>(batch * heads) * static_cast<double>(seq) *
                       static_cast<double>(seq);
  const std::string shape = fmt::format("{}x{}, {} heads of 192/128 bf16", batch, seq, heads);
  b.compute_bound("mla_attention", shape, pairs * 2 * (192 + 128), 0, "",
                  [&] { b.kernels().mla_attention(q, kv, kpe, o, lse, s); });
  b.compute_bound("mla_attention_bwd", shape, pairs * 2 * (3 * 192 + 2 * 128), 0, "", [&] {
    b.kernels().mla_attention_bwd(d_o, q, kv, kpe, o, lse, dq, dkv, dkpe, s);
  });
  const auto any_order = cuda_kernels(b.device(), {.deterministic_attention = false});
  b.compute_bound("mla_attention_bwd in any order", shape, pairs * 2 * (3 * 192 + 2 * 128), 0, "",
                  [&] { any_order->mla_attention_bwd(d_o, q, kv, kpe, o, lse, dq, dkv, dkpe, s); });
}

// Two pieces' results made one: what context parallelism does after every piece of keys but the
// first.
void merged_pieces(Bench& b, std::int64_t rows, std::int64_t heads, std::int64_t d) {
  cuda::Resources resources(b.device(), 0);
  const View o = b.random(DType::bf16, rows, heads * d),
             other = b.random(DType::bf16, rows, heads * d);
  const View lse = b.random(DType::fp32, rows, heads),
             other_lse = b.random(DType::fp32, rows, heads);
  b.memory_bound("merge_pieces", fmt::format("{} rows, {} heads of {}, bf16", rows, heads, d),
                 6 * static_cast<double>(rows * heads * d) + 12 * static_cast<double>(rows * heads),
                 "2B*(o+other+o)+4B*(3 lse)",
                 [&] { cuda::merge_pieces(resources, other, other_lse, o, lse); });
}

}  // namespace

void attention_kernels(Bench& b) {
  if (!b.wanted("attention") && !b.wanted("merge_pieces")) return;
  const auto grouped = [&](DType type, std::int64_t batch, std::int64_t seq, std::int64_t heads,
                           std::int64_t groups) {
    b.attempt("attention", fmt::format("{}x{}, {}/{} heads", batch, seq, heads, groups),
              [&] { grouped_heads(b, type, batch, seq, heads, groups, 128); });
  };
  for (const std::int64_t seq : {4096, 8192, 16384, 32768}) {
    grouped(DType::bf16, 32768 / seq, seq, 32, 8);
  }
  // What NVIDIA has published of cuDNN on an H200.
  for (const std::int64_t seq : {4096, 8192, 16384, 32768}) grouped(DType::bf16, 1, seq, 64, 8);
  grouped(DType::bf16, 4, 4096, 32, 4);
  for (const std::int64_t seq : {8192, 32768}) {
    b.attempt("attention in codes", fmt::format("1x{}", seq),
              [&] { heads_in_codes(b, 1, seq, 64, 8, 128); });
  }
  grouped(DType::fp32, 1, 2048, 8, 2);  // our own kernel
  b.attempt("mla_attention", "2x4096", [&] { mla(b, 2, 4096, 128); });
  b.attempt("mla_attention", "1x8192", [&] { mla(b, 1, 8192, 128); });
  b.attempt("merge_pieces", "32768 rows", [&] { merged_pieces(b, 32768, 64, 128); });
}

}  // namespace pleat::bench
