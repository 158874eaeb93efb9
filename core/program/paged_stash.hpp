// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows with a paged stash: tensors of rows that routing sends have room for more of them within a
// pass, and lie in a block of another size between the passes.
#pragma once

#include <algorithm>

#include "core/program/tensor.hpp"

namespace pleat {

[[nodiscard]] inline Binding within_pass(const Binding& rows) {
  return rows.room > 0 ? Binding{.routed = rows.room} : rows;
}
[[nodiscard]] inline Binding between_passes(const Binding& rows) {
  return rows.stashed > 0 ? Binding{.routed = rows.stashed} : rows;
}

// Does a tensor with these rows go to a block of another size between the passes?
[[nodiscard]] inline bool is_stashed(const Tensor& tensor, const Binding& rows) {
  return tensor.bytes(within_pass(rows)) != tensor.bytes(between_passes(rows));
}

}  // namespace pleat
