// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What our calls of cuDNN's attention share: sequence lengths, copies to its layouts, and MLA.
#pragma once

#include <vector>

#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/cudnn_sdpa.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/cuda/visible_keys.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

template <class... Views>
bool all_bf16(Views... views) {
  return ((views.dtype == DType::bf16 && aligned16(views.data) && views.cols % 8 == 0) && ...);
}

inline std::byte* at(View v, std::int64_t column) {
  return static_cast<std::byte*>(v.data) + bytes_of(v.dtype, column);
}

// Lengths and beginnings of sequences for cuDNN, where a run of rows may hold several sequences.
class Sequences {
 public:
  // Row r is number r - first[sequence_of[r]] of its sequence. Null if every run is one sequence.
  struct OnDevice {
    const std::int32_t *sequence_of = nullptr, *first = nullptr;
  };

  Sequences() = default;
  // Sets the window of `shape`, and makes it ragged if it has to be.
  Sequences(const VisibleSequences& seen, std::int64_t rows, SdpaShape& shape);

  [[nodiscard]] std::size_t bytes() const;
  OnDevice upload(const Resources&, Scratch&, const SdpaShape&, SdpaPointers& to) const;

 private:
  std::int64_t rows_ = 0;
  // Lengths; beginnings of q, k, v and o in elements; the sequence of every row; first rows.
  std::vector<std::int32_t> numbers_;
};

// Copies between our layouts and those that cuDNN's attention takes. Everything is bf16 but lse.

// Heads [first, first + count) of `all`.
struct HeadRange {
  std::int64_t first = 0, count = 0, all = 0;
};

// stats[batch, count, seq] to lse[rows, all], and back.
void stats_to_lse(const Resources&, const float* stats, View lse, std::int64_t seq, HeadRange);
void lse_to_stats(const Resources&, View lse, float* stats, std::int64_t seq, HeadRange);

// The same of sequences one after the other.
void ragged_stats_to_lse(const Resources&, const float* stats, View lse, std::int64_t seq,
                         HeadRange, const Sequences::OnDevice&);
void lse_to_ragged_stats(const Resources&, View lse, float* stats, std::int64_t seq, HeadRange,
                         const Sequences::OnDevice&);

void add_bf16(const Resources&, View from, View to);  // to += from

// k[rows, count * (nope + rope)]: each head's own part, and the rotary part that all heads share.
void join_mla_keys(const Resources&, View kv, View kpe, void* k, const MlaShape&, HeadRange);
// The heads' own parts go to dkv. shared[rows, rope] = the sum of the rotary parts in the order of
// the heads; with `add` it is added to what is there.
void split_mla_key_gradients(const Resources&, const void* dk, View dkv, float* shared, bool add,
                             const MlaShape&, HeadRange);
// Writes `shared`, rounded, to the last columns of dkpe; with `add` it is added to them first.
void write_mla_shared_gradient(const Resources&, const float* shared, View dkpe, bool add,
                               const MlaShape&);

// MLA through cuDNN. All heads share the rotary part of the keys, so whole keys are put together
// for a few heads at a time, and their copies stay small. Causal; windows and packed documents as
// pieces.

// KernelSet::mla_attention's operands, or their gradients.
struct MlaOperands {
  View q, kv, kpe;
};

class CudnnMla {
 public:
  CudnnMla(Resources& r, SdpaLibrary& library) : r_(r), library_(library) {}

  // False if cuDNN has no kernel for it or operands are not bf16; nothing was done then.
  [[nodiscard]] bool forward(const MlaOperands&, View o, View lse, const MlaShape&,
                             const VisibleSequences* seen = nullptr);
  [[nodiscard]] bool backward(View d_o, const MlaOperands&, View o, View lse, const MlaOperands& to,
                              const MlaShape&, const VisibleSequences* seen = nullptr,
                              bool add = false);
  // Pieces of two parts, laid out as MLA's operands are.
  [[nodiscard]] bool forward(const AttentionPiece&, HeadColumns o, View lse);
  [[nodiscard]] bool backward(const AttentionPiece&, HeadColumns d_o, HeadColumns o, View lse,
                              const AttentionPieceGradient&);

 private:
  Resources& r_;
  SdpaLibrary& library_;
};

}  // namespace pleat::cuda
