// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Measured tables that a profile refers to: corrections of a matrix product's law, times of
// collectives. Read once from CSV files in configs/profiles/tables (format: docs/FORMATS.md);
// looking up neither allocates nor copies.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/quantity.hpp"

namespace pleat {

// Where a number comes from, best first.
enum class SourceClass { measured, interpolated, fitted, datasheet };

// A read-only value owned by several profiles; equal when the values are.
template <class T>
struct Shared {
  std::shared_ptr<const T> pointer;
  [[nodiscard]] explicit operator bool() const { return pointer != nullptr; }
  const T& operator*() const { return *pointer; }
  const T* operator->() const { return pointer.get(); }
  bool operator==(const Shared& o) const {
    return pointer == o.pointer || (pointer && o.pointer && *pointer == *o.pointer);
  }
};

struct Correction {
  double log = 0;  // ln(measured / law)
  SourceClass source = SourceClass::interpolated;
};

// c(m, n, k): trilinear in the logarithms on a coarse grid, clamped outside, plus the offset of the
// tiling the library picks for an m x n result, which holds for that shape alone: it fades out
// within kShapeReach of a measured one.
struct GemmTable {
  std::vector<double> log_m, log_n, log_k;      // nodes of the grid, ascending
  std::vector<float> grid;                      // [m][n][k]
  std::vector<double> log_shape_m, log_shape_n; // measured results, ascending
  std::vector<float> shape;                     // [m][n]
  // What the measurement contains besides the product: fixed + per_element m k.
  Seconds extra_fixed, extra_per_element;
  bool operator==(const GemmTable&) const = default;
};
inline constexpr double kShapeReach = 0.02;

[[nodiscard]] Correction correction_at(const GemmTable&, double m, double n, double k);
[[nodiscard]] GemmTable parse_gemm_table(const std::string& text, const std::string& file_name);

// Times of one collective among `ranks` by bytes of the whole tensor (all-to-all: of one rank).
struct CollectiveSeries {
  int ranks = 2;
  std::vector<double> bytes, seconds;  // bytes ascend
  bool operator==(const CollectiveSeries&) const = default;
};
struct CollectiveTable {
  // [collective], by ranks ascending: all_gather, reduce_scatter, all_reduce, all_to_all,
  // send_recv.
  std::array<std::vector<CollectiveSeries>, 5> series;
  bool operator==(const CollectiveTable&) const = default;
};

struct TableTime {
  Seconds time;
  SourceClass source = SourceClass::interpolated;
};
// Linear in the bytes between measured sizes; below the smallest its time, above the largest
// its rate.
[[nodiscard]] TableTime time_at(const CollectiveSeries&, Bytes whole);
// The series with most ranks up to `ranks`; nullptr if there is none.
[[nodiscard]] const CollectiveSeries* nearest_series(const CollectiveTable&, std::size_t collective,
                                                     int ranks);
[[nodiscard]] CollectiveTable parse_collective_table(const std::string& text,
                                                     const std::string& file_name);

}  // namespace pleat
