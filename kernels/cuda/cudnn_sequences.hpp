// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sequences of their own lengths as cuDNN takes them, and what our attention on it shares.
#pragma once

#include <vector>

#include "kernels/cuda/cudnn_sdpa.hpp"
#include "kernels/cuda/stream.cuh"
#include "kernels/cuda/visible_sequences.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

template <class... Views>
bool all_bf16(Views... views) {
  return ((views.dtype == DType::bf16 && aligned16(views.data) && views.cols % 8 == 0) && ...);
}

inline std::byte* at(View v, std::int64_t column) {
  return static_cast<std::byte*>(v.data) + bytes_of(v.dtype, column);
}

// Lengths and beginnings of sequences, where every run of rows is not one.
class Sequences {
 public:
  // Row r is at r - first[sequence_of[r]] of its sequence; null where every run is one.
  struct OnDevice {
    const std::int32_t *sequence_of = nullptr, *first = nullptr;
  };

  Sequences() = default;
  // Gives `shape` the window, and makes it ragged where it must be.
  Sequences(const VisibleSequences& seen, std::int64_t rows, SdpaShape& shape);

  [[nodiscard]] std::size_t bytes() const;
  OnDevice upload(const Resources&, Scratch&, const SdpaShape&, SdpaPointers& to) const;

 private:
  std::int64_t rows_ = 0;
  // Lengths; beginnings of q, k, v and o in elements; the sequence of every row; first rows.
  std::vector<std::int32_t> numbers_;
};

}  // namespace pleat::cuda
