// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/expert_load.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numbers>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// Sums of equal loads differ in their last bits.
constexpr double kRounding = 1e-9;

constexpr std::size_t kKnown = 1025;  // values of expected_largest that are remembered

// E = integral of 1 - F(x)^n over x > 0, less that of F(x)^n over x < 0, by Simpson's rule.
double integrate_largest(int n) {
  constexpr int kSteps = 400;
  constexpr double kEnd = 8;
  const auto none_above = [n](double x) {  // F(x)^n
    return std::pow(0.5 * std::erfc(-x / std::numbers::sqrt2), n);
  };
  const double h = kEnd / kSteps;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * (1 - none_above(i * h) - none_above(-i * h));
  }
  return sum * h / 3;
}

}  // namespace

// Every layer of every plan with experts asks for one of few values.
double expected_largest(int n) {
  static std::array<std::atomic<double>, kKnown> known{};  // 0: not yet
  if (n <= 1) return 0;
  if (static_cast<std::size_t>(n) >= kKnown) return integrate_largest(n);
  std::atomic<double>& value = known[static_cast<std::size_t>(n)];
  if (value.load(std::memory_order_relaxed) == 0) {
    value.store(integrate_largest(n), std::memory_order_relaxed);
  }
  return value.load(std::memory_order_relaxed);
}

double busiest_rank(std::span<const double> loads, int ranks, double capacity) {
  const std::size_t own = loads.size() / static_cast<std::size_t>(ranks);
  PLEAT_ASSERT(own > 0);
  double total = 0;
  for (const double load : loads) total += load;
  if (total <= 0) return 1;
  const double most = capacity > 0 ? capacity * total / static_cast<double>(loads.size()) : total;
  double busiest = 0;
  for (std::size_t begin = 0; begin + own <= loads.size(); begin += own) {
    double rank = 0;
    for (const double load : loads.subspan(begin, own)) rank += std::min(load, most);
    busiest = std::max(busiest, rank);
  }
  const double factor = busiest * ranks / total;
  return factor < 1 + kRounding && factor > 1 - kRounding ? 1 : factor;
}

double busiest_rank(double spread, const MoeSpec& moe, int ranks) {
  const double experts = static_cast<double>(moe.experts), k = static_cast<double>(moe.top_k);
  const double excess = spread * std::sqrt(ranks / experts) * expected_largest(ranks);
  // A token has no two copies for one expert.
  const double most = ranks * std::min(1.0, experts / ranks / k);
  return std::min(1 + excess, std::max(1.0, most));
}

int loads_of_layer(const WorkloadSpec& w, const ModelSpec& model, int layer) {
  if (w.routing != Routing::natural || w.expert_loads.empty()) return -1;
  auto own = std::ranges::find(w.expert_loads, layer, &ExpertLoads::layer);
  if (own == w.expert_loads.end() && layer > model.layers) {
    const int last = static_cast<int>(model.layers) - 1;
    own = std::ranges::find(w.expert_loads, last, &ExpertLoads::layer);
  }
  if (own == w.expert_loads.end()) return -1;
  return static_cast<int>(std::ranges::find(w.expert_loads, own->of, &ExpertLoads::of) -
                          w.expert_loads.begin());
}

namespace {

// Drops what is over the experts' capacity, or pads to it.
double within_capacity(const WorkloadSpec& w, double factor) {
  if (w.capacity_factor <= 0) return factor;
  return w.pad_to_capacity ? w.capacity_factor : std::min(factor, w.capacity_factor);
}

}  // namespace

double rank_imbalance(const WorkloadSpec& w, double busiest) {
  const bool natural = w.routing == Routing::natural;
  return within_capacity(w, natural ? std::max(1.0, w.imbalance * busiest) : 1);
}

double rank_imbalance(const WorkloadSpec& w, const MoeSpec& moe, int loads, int ranks) {
  if (ranks == 1) return within_capacity(w, 1);
  double busiest = 1;
  if (loads >= 0) {
    const std::vector<double>& of = w.expert_loads[static_cast<std::size_t>(loads)].of;
    busiest = busiest_rank(of, ranks, w.capacity_factor);
  } else if (w.expert_spread > 0) {
    busiest = busiest_rank(w.expert_spread, moe, ranks);
  }
  return rank_imbalance(w, busiest);
}

double natural_spread(const MoeSpec& moe) {
  if (moe.expert_bias) return kAuxLossFreeSpread;
  return moe.aux_loss > 0 || moe.seq_aux_loss > 0 ? kAuxLossSpread : kUntrainedSpread;
}

}  // namespace pleat
