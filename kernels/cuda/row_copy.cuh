// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows of any element type moved as bytes, 16 at a time where every row is aligned, else by
// elements.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {

// f(Tag<U>, units a row) with the widest unit that rows of all views are multiples of.
template <class F, class... Views>
void by_row_unit(F f, View first, Views... more) {
  PLEAT_ASSERT(((more.dtype == first.dtype && more.cols == first.cols) && ...));
  const std::int64_t bytes = bytes_of(first.dtype, first.cols);
  if (aligned16(first.data) && (aligned16(more.data) && ...) && bytes % 16 == 0) {
    f(Tag<uint4>{}, bytes / 16);
  } else if (bytes_of(first.dtype, 1) == 4) {
    f(Tag<std::uint32_t>{}, first.cols);
  } else {
    PLEAT_ASSERT(bytes_of(first.dtype, 1) == 2);
    f(Tag<std::uint16_t>{}, first.cols);
  }
}

template <class U>
[[nodiscard]] U* units(View v) {
  return static_cast<U*>(v.data);
}

}  // namespace pleat::cuda
