// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// In which order a grouped product computes the tiles of a group.
#pragma once

#include <cstdint>

namespace pleat::cuda {

enum class Raster : std::uint8_t { along_m, along_n };

// C[m, n] of one group, in tiles. Tiles that are computed at about the same time read their
// operands once between them, out of the L2. Along the side with fewer tiles first, that side's
// operand stays in the L2 until the group is done, and the other one passes through once. Along the
// other side it is the longer operand that would have to stay, and it is read again for each tile
// of the short side if the L2 does not hold it.
[[nodiscard]] constexpr Raster raster_of(std::int64_t m, std::int64_t n, std::int64_t tile_m,
                                         std::int64_t tile_n) {
  const std::int64_t tiles_m = (m + tile_m - 1) / tile_m, tiles_n = (n + tile_n - 1) / tile_n;
  return tiles_m > tiles_n ? Raster::along_n : Raster::along_m;
}

}  // namespace pleat::cuda
