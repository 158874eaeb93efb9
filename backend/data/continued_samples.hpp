// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The samples of a run that goes on for longer than the order it began with, or with other data
// than it began with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/data/sample_source.hpp"

namespace pleat {

class ContinuedSamples final : public SampleSource {
 public:
  // The orders one after the other, the first from sample `begins` of the run on. What came before
  // was read from elsewhere; it reads as the first sample.
  ContinuedSamples(std::vector<std::shared_ptr<const SampleSource>> orders, std::int64_t begins);

  [[nodiscard]] std::int64_t seq_len() const override { return orders_.front()->seq_len(); }
  [[nodiscard]] std::int64_t size() const override { return ends_.back(); }
  void read(std::int64_t sample, std::span<std::int32_t> tokens) const override;
  [[nodiscard]] std::string name() const override { return orders_.front()->name(); }

 private:
  std::vector<std::shared_ptr<const SampleSource>> orders_;
  std::int64_t begins_;
  std::vector<std::int64_t> ends_;  // the run's sample after each order's last
};

// The data of a run that takes `until` samples, the first of them from sample `begins` on from
// `first`. Where that does not suffice, further orders follow, each made for twice as many samples
// as the one before, which depends on nothing but the first: `open(samples, n)` is the n-th of
// them, from 1. `first` itself where it is all there is to it.
[[nodiscard]] std::shared_ptr<const SampleSource> continue_samples(
    std::shared_ptr<const SampleSource> first, std::int64_t begins, std::int64_t until,
    const std::function<std::shared_ptr<const SampleSource>(std::int64_t samples, int n)>& open);

}  // namespace pleat
