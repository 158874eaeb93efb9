// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

inline constexpr std::size_t kMaxParts = 128;

// Device::sum_parts, of at most kMaxParts parts.
void sum_parts(const Resources&, std::span<const View> parts, View to);

}  // namespace pleat::cuda
