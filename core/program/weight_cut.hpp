// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How a rank's part of a weight is cut from the whole one: every layout starts from the same whole
// weights, and puts them together again from the parts.
#pragma once

#include <cstdint>
#include <vector>

namespace pleat {

// Rows (or columns) of the whole weight, dealt out in `parts` even pieces; the last ones are padded
// where the division leaves a rest. With fewer parts than ranks, consecutive ranks hold the same
// one (key and value heads). 0 parts: as many as ranks.
struct Band {
  std::int64_t whole = 0;
  int parts = 0;
  bool operator==(const Band&) const = default;
};

// Of a dense weight over tp, of an expert's matrix over etp. A vector is cut like rows.
struct Cut {
  bool columns = false;     // else rows
  int ranks = 1;
  std::vector<Band> bands;  // one after the other, in the part as in the whole; empty: not cut
  bool operator==(const Cut&) const = default;
};

// Consecutive elements of a part, and where they lie in the whole weight.
struct WeightRun {
  std::int64_t local = 0, whole = 0, elements = 0;
  bool operator==(const WeightRun&) const = default;
};

// What part [rows, columns] number `rank` holds; elements in no run are padding.
[[nodiscard]] std::vector<WeightRun> runs_of(const Cut&, std::int64_t rows, std::int64_t columns,
                                       int rank);
// Elements of the whole weight whose parts are [rows, columns].
[[nodiscard]] std::int64_t whole_elements(const Cut&, std::int64_t rows, std::int64_t columns);

// Elements that so many consecutive ranks hold alike.
struct Copies {
  std::int64_t first = 0, elements = 0;
  int ranks = 1;
  bool heads = false;  // key and value heads: each rank has a part of their gradient
  bool operator==(const Copies&) const = default;
};
// Those of a part: its bands of fewer parts than ranks.
[[nodiscard]] std::vector<Copies> copies_of(const Cut&, std::int64_t rows, std::int64_t columns);

}  // namespace pleat
