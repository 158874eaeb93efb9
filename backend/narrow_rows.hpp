// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows as they travel to experts and back in fp8: E4M3 codes with an fp32 scale for every 128
// columns, one row after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel_set.hpp"

namespace pleat {

[[nodiscard]] std::int64_t packed_row_bytes(std::int64_t columns);
// Of fp32 or bf16. The largest |x| of a block becomes the largest code.
[[nodiscard]] std::vector<std::byte> pack_rows(View rows);
void unpack_rows(std::span<const std::byte> packed, View rows);

}  // namespace pleat
