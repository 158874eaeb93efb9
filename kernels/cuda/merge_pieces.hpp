// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention over two sets of keys from that over each.
#pragma once

#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// o and lse become those of all keys: with l = log(exp(lse) + exp(other_lse)),
// o = exp(lse - l) o + exp(other_lse - l) other. Both o are [rows, heads * width], both lse [rows, heads].
void merge_pieces(const Resources&, View other, View other_lse, View o, View lse);

}  // namespace pleat::cuda
