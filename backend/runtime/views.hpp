// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Parts of views, their bytes and values, and the collectives that add in their type.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat {

[[nodiscard]] inline View elements_of(View v, std::int64_t first, std::int64_t count) {
  return {v.at(first), v.dtype, 1, count};
}
[[nodiscard]] inline View rows_of(View v, std::int64_t first, std::int64_t rows) {
  return {v.at(first * v.cols), v.dtype, rows, v.cols};
}
[[nodiscard]] inline std::span<std::byte> bytes(View v) {
  return {v.at(0), static_cast<std::size_t>(bytes_of(v.dtype, v.elements()))};
}

// Of fp32 and bf16 in host memory.
[[nodiscard]] std::vector<float> values_of(View);
void set_values(View, std::span<const float>);  // rounded to nearest even
void change_values(View, const std::function<void(std::span<float>)>& change);

// Sums of fp32 or bf16 in fp32, in member order, rounded once.
void all_reduce(Communicator&, View);
void reduce_scatter(Communicator&, View all, View mine);
void reduce_scatter_ragged(Communicator&, View all, View mine,
                           std::span<const std::int64_t> elements);

}  // namespace pleat
