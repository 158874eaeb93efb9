// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Copies between our layouts and those that cuDNN's attention takes. Everything is bf16 but lse.
#pragma once

#include "kernels/cuda/cudnn_sequences.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// Heads [first, first + count) of `all`.
struct HeadRange {
  std::int64_t first = 0, count = 0, all = 0;
};

// stats[batch, count, seq] to lse[rows, all], and back.
void stats_to_lse(const Resources&, const float* stats, View lse, std::int64_t seq, HeadRange);
void lse_to_stats(const Resources&, View lse, float* stats, std::int64_t seq, HeadRange);

// The same of sequences one after the other.
void ragged_stats_to_lse(const Resources&, const float* stats, View lse, std::int64_t seq, HeadRange,
                         const Sequences::OnDevice&);
void lse_to_ragged_stats(const Resources&, View lse, float* stats, std::int64_t seq, HeadRange,
                         const Sequences::OnDevice&);

void add_bf16(const Resources&, View from, View to);  // to += from

// k[rows, count * (nope + rope)]: the heads' own part and the rotary part that all share.
void join_mla_keys(const Resources&, View kv, View kpe, void* k, const MlaShape&, HeadRange);
// The own part to dkv; shared[rows, rope] (+)= the sum of the rotary parts, heads ascending.
void split_mla_key_gradients(const Resources&, const void* dk, View dkv, float* shared, bool add,
                             const MlaShape&, HeadRange);
// Rounds shared, or its sum with what is there, to the last columns of dkpe.
void write_mla_shared_gradient(const Resources&, const float* shared, View dkpe, bool add,
                               const MlaShape&);

}  // namespace pleat::cuda
