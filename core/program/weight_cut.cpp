// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/weight_cut.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

int parts_of(const Cut& cut, const Band& band) { return band.parts > 0 ? band.parts : cut.ranks; }

std::int64_t length(const Cut& cut, const Band& band) {
  const int parts = parts_of(cut, band);
  PLEAT_ASSERT(parts <= cut.ranks && cut.ranks % parts == 0);
  return (band.whole + parts - 1) / parts;
}

std::int64_t whole_length(const Cut& cut) {
  std::int64_t sum = 0;
  for (const Band& band : cut.bands) sum += band.whole;
  return sum;
}

// The bands of one part as runs along the axis that is cut.
std::vector<WeightRun> along_axis(const Cut& cut, std::int64_t part, int rank) {
  std::vector<WeightRun> runs;
  WeightRun at;
  for (const Band& band : cut.bands) {
    const std::int64_t each = length(cut, band);
    const std::int64_t piece = std::int64_t{rank} * parts_of(cut, band) / cut.ranks;
    const std::int64_t valid = std::clamp<std::int64_t>(band.whole - piece * each, 0, each);
    if (valid > 0) runs.push_back({at.local, at.whole + piece * each, valid});
    at.local += each;
    at.whole += band.whole;
  }
  PLEAT_ASSERT(at.local == part);
  return runs;
}

}  // namespace

std::vector<WeightRun> runs_of(const Cut& cut, std::int64_t rows, std::int64_t columns, int rank) {
  if (cut.bands.empty()) return {{0, 0, rows * columns}};
  std::vector<WeightRun> runs = along_axis(cut, cut.columns ? columns : rows, rank);
  if (!cut.columns) {
    for (WeightRun& r : runs) r = {r.local * columns, r.whole * columns, r.elements * columns};
    return runs;
  }
  const std::int64_t width = whole_length(cut);
  std::vector<WeightRun> all;
  all.reserve(runs.size() * static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const WeightRun& r : runs) {
      all.push_back({row * columns + r.local, row * width + r.whole, r.elements});
    }
  }
  return all;
}

std::int64_t whole_elements(const Cut& cut, std::int64_t rows, std::int64_t columns) {
  if (cut.bands.empty()) return rows * columns;
  return whole_length(cut) * (cut.columns ? rows : columns);
}

std::vector<Copies> copies_of(const Cut& cut, std::int64_t rows, std::int64_t columns) {
  std::vector<Copies> copies;
  std::int64_t first = 0;
  for (const Band& band : cut.bands) {
    const std::int64_t each = length(cut, band);
    const int ranks = cut.ranks / parts_of(cut, band);
    if (ranks > 1) {
      PLEAT_ASSERT(!cut.columns && first + each <= rows);
      if (!copies.empty() && copies.back().ranks == ranks &&
          copies.back().first + copies.back().elements == first * columns) {
        copies.back().elements += each * columns;
      } else {
        copies.push_back({first * columns, each * columns, ranks, true});
      }
    }
    first += each;
  }
  return copies;
}

}  // namespace pleat
