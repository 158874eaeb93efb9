// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/continued_samples.hpp"

#include <algorithm>
#include <utility>

namespace pleat {

ContinuedSamples::ContinuedSamples(std::vector<std::shared_ptr<const SampleSource>> orders,
                                   std::int64_t begins)
    : orders_(std::move(orders)), begins_(begins) {
  std::int64_t end = begins_;
  for (const auto& order : orders_) ends_.push_back(end += order->size());
}

void ContinuedSamples::read(std::int64_t sample, std::span<std::int32_t> tokens) const {
  sample = std::max(sample, begins_);
  const auto order = std::ranges::upper_bound(ends_, sample) - ends_.begin();
  const std::int64_t begin = order == 0 ? begins_ : ends_[static_cast<std::size_t>(order - 1)];
  orders_.at(static_cast<std::size_t>(order))->read(sample - begin, tokens);
}

std::shared_ptr<const SampleSource> continue_samples(
    std::shared_ptr<const SampleSource> first, std::int64_t begins, std::int64_t until,
    const std::function<std::shared_ptr<const SampleSource>(std::int64_t samples, int n)>& open) {
  std::int64_t end = begins + first->size();
  if (begins == 0 && end >= until) return first;
  std::vector<std::shared_ptr<const SampleSource>> orders{std::move(first)};
  for (int n = 1; end < until; ++n) {
    orders.push_back(open(2 * orders.back()->size(), n));
    end += orders.back()->size();
  }
  return std::make_shared<ContinuedSamples>(std::move(orders), begins);
}

}  // namespace pleat
