// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sequences packed from documents: the mean length attention sees, and how far one sequence's
// scores are from another's.
#include <algorithm>
#include <cmath>

#include "core/spec/workload.hpp"

namespace pleat {

// With lengths l and r = sum l^2 / sum l, the scores of a sequence of s tokens vary as n = s /
// mean(l) draws of l^2 - r l do: the length is fixed, its split is not (renewal reward).
Packing packing_of(const WorkloadSpec& w, int cp) {
  const double s = static_cast<double>(w.seq_len);
  if (w.documents.empty()) return {s, 0};
  double sum = 0, squares = 0;
  std::vector<double> lengths;
  for (const std::int64_t tokens : w.documents) {
    const std::int64_t step = cp > 1 ? 2LL * cp : 1;
    const std::int64_t padded = (std::min(tokens, w.seq_len) + step - 1) / step * step;
    const double l = static_cast<double>(std::min(padded, w.seq_len));
    lengths.push_back(l);
    sum += l;
    squares += l * l;
  }
  const double mean_length = squares / sum;
  double variance = 0;
  for (const double l : lengths) variance += (l * l - mean_length * l) * (l * l - mean_length * l);
  const double documents = s / (sum / static_cast<double>(lengths.size()));
  variance *= documents / static_cast<double>(lengths.size());
  return {mean_length, std::sqrt(variance) / (s * mean_length)};
}

std::int64_t attended_length(const WorkloadSpec& w) {
  return std::llround(packing_of(w, 1).mean_length);
}

}  // namespace pleat
