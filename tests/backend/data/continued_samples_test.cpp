// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/continued_samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace pleat {
namespace {

// Each token of a sample is its number and the order's.
class Numbered final : public SampleSource {
 public:
  Numbered(std::int64_t samples, int order) : samples_(samples), order_(order) {}
  [[nodiscard]] std::int64_t seq_len() const override { return 1; }
  [[nodiscard]] std::int64_t size() const override { return samples_; }
  void read(std::int64_t sample, std::span<std::int32_t> tokens) const override {
    ASSERT_LT(sample, samples_);
    ASSERT_GE(sample, 0);
    for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(order_ * 1000 + sample);
  }
  [[nodiscard]] std::string name() const override { return "numbers"; }

 private:
  std::int64_t samples_;
  int order_;
};

std::shared_ptr<const SampleSource> opened(std::int64_t samples, int n) {
  return std::make_shared<Numbered>(samples, n);
}

std::vector<std::int32_t> read_all(const SampleSource& source) {
  std::vector<std::int32_t> all;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    std::array<std::int32_t, 2> tokens{};
    source.read(i, tokens);
    EXPECT_EQ(tokens[0], tokens[1]);
    all.push_back(tokens[0]);
  }
  return all;
}

TEST(ContinuedSamples, AnOrderThatSufficesIsAllThereIs) {
  const auto first = opened(6, 0);
  EXPECT_EQ(continue_samples(first, 0, 6, opened), first);
}

TEST(ContinuedSamples, OrdersFollowEachTwiceAsLong) {
  EXPECT_THAT(read_all(*continue_samples(opened(2, 0), 0, 7, opened)),
              ::testing::ElementsAre(0, 1, 1000, 1001, 1002, 1003, 2000, 2001, 2002, 2003, 2004,
                                     2005, 2006, 2007));
}

// Where a run was resumed, and how far it went before, changes nothing.
TEST(ContinuedSamples, ALongerRunBeginsAsAShorterOne) {
  const auto shorter = read_all(*continue_samples(opened(3, 0), 4, 20, opened));
  auto longer = read_all(*continue_samples(opened(3, 0), 4, 200, opened));
  ASSERT_GT(longer.size(), shorter.size());
  longer.resize(shorter.size());
  EXPECT_EQ(longer, shorter);
}

TEST(ContinuedSamples, OtherDataBeginsWhereTheRunGoesOn) {
  EXPECT_THAT(read_all(*continue_samples(opened(3, 0), 2, 5, opened)),
              ::testing::ElementsAre(0, 0, 0, 1, 2));
}

}  // namespace
}  // namespace pleat
