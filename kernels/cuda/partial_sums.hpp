// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sums of parts in a fixed order: of partial results, and of ranks that share a GPU.
#pragma once

#include <span>

#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// The second stage of sums over rows: a first kernel leaves partial sums, these add them up in
// order.

// to[c] = (add ? to[c] : 0) + scale * sum over i < count of partial[i * stride + c], c <
// to.elements().
void add_partial_sums(const Resources&, const float* partial, std::int64_t count,
                      std::int64_t stride, double scale, bool add, View to);

inline constexpr std::size_t kMaxParts = 128;

// Device::sum_parts, of at most kMaxParts parts.
void sum_parts(const Resources&, std::span<const View> parts, View to);

}  // namespace pleat::cuda
