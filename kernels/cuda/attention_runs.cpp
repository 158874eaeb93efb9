// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/fused_attention.hpp"
#include "kernels/cuda/head_rows.hpp"

namespace pleat::cuda {
namespace {

// Heads of `width` columns, from column `first` on.
HeadColumns heads_from(View x, std::int64_t first, std::int64_t width, std::int64_t share = 1) {
  return {.x = x, .first = first, .stride = width, .width = width, .share = share};
}

// One gradient: what a call writes in bf16, and the sums in fp32.
struct Summed {
  View part, sum;  // of the rows of a call, of all
  Summed(Scratch& from, std::int64_t part_rows, std::int64_t sum_rows, std::int64_t cols)
      : part{from.take<std::uint16_t>(part_rows * cols), DType::bf16, part_rows, cols},
        sum{from.take<float>(sum_rows * cols), DType::fp32, sum_rows, cols} {}
  static std::size_t bytes(std::int64_t part_rows, std::int64_t sum_rows, std::int64_t cols) {
    return Scratch::bytes<std::uint16_t>(part_rows * cols) + Scratch::bytes<float>(sum_rows * cols);
  }
  [[nodiscard]] View part_of(std::int64_t rows) const { return row_range(part, 0, rows); }
  void add(KernelSet& kernels, std::int64_t first, std::int64_t rows) const {
    kernels.copy_columns(part_of(rows), row_range(sum, first, rows),
                         {.width = part.cols, .add = true});
  }
};

}  // namespace

bool backward_in_runs(FusedAttention& fused, Resources& r, KernelSet& kernels, View d_o, View qkv,
                      View o, View lse, View dqkv, const AttentionShape& s, std::int64_t rows) {
  if (d_o.dtype != DType::bf16 || dqkv.dtype != DType::bf16) return false;
  const std::int64_t seq = s.seq, run = std::min(rows, seq);
  const std::int64_t of_q = s.heads * s.head_dim, of_k = s.kv_groups * s.head_dim,
                     of_v = s.kv_groups * s.value_dim();
  const std::size_t bytes = Summed::bytes(run, run, of_q) + Summed::bytes(seq, seq, of_k) +
                            Summed::bytes(seq, seq, of_v);
  Scratch memory(r.copies(bytes), bytes);
  const Summed dq(memory, run, run, of_q), dk(memory, seq, seq, of_k), dv(memory, seq, seq, of_v);
  const std::int64_t share = s.heads / s.kv_groups;
  const HeadColumns q = heads_from(qkv, 0, s.head_dim),
                    k = heads_from(qkv, of_q, s.head_dim, share),
                    v = heads_from(qkv, of_q + of_k, s.value_dim(), share),
                    out = heads_from(o, 0, s.value_dim()),
                    d_out = heads_from(d_o, 0, s.value_dim());
  for (std::int64_t sequence = 0; sequence < s.batch; ++sequence) {
    const std::int64_t base = sequence * seq;
    kernels.zero(dk.sum);
    kernels.zero(dv.sum);
    for (std::int64_t first = 0; first < seq; first += run) {
      const std::int64_t queries = std::min(run, seq - first);
      const View run_sum = row_range(dq.sum, 0, queries);
      kernels.zero(run_sum);
      const auto block = [&](std::int64_t key, std::int64_t keys, bool causal) {
        const AttentionBlock b{.heads = s.heads,
                               .scale = s.scale,
                               .q = row_range(q, base + first, queries),
                               .k = row_range(k, base + key, keys),
                               .v = row_range(v, base + key, keys),
                               .causal = causal};
        const View stats = row_range(lse, base + first, queries);
        if (!fused.backward(b, row_range(d_out, base + first, queries),
                            row_range(out, base + first, queries), stats, dq.part_of(queries),
                            dk.part_of(keys), dv.part_of(keys))) {
          return false;
        }
        dq.add(kernels, 0, queries);
        dk.add(kernels, key, keys);
        dv.add(kernels, key, keys);
        return true;
      };
      if (!block(first, queries, true) || (first > 0 && !block(0, first, false))) return false;
      kernels.copy_columns(run_sum, row_range(dqkv, base + first, queries), {.width = of_q});
    }
    const View to = row_range(dqkv, base, seq);
    kernels.copy_columns(dk.sum, to, {.width = of_k, .to_first = of_q});
    kernels.copy_columns(dv.sum, to, {.width = of_v, .to_first = of_q + of_k});
  }
  return true;
}

}  // namespace pleat::cuda
