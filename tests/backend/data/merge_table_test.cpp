// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Short words are merged by scanning, long ones with a queue: both as the definition says.
#include "backend/data/tokenizer/bpe.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "backend/data/tokenizer/bpe_tokenizer.hpp"

namespace pleat {
namespace {

using Tokens = std::vector<std::int32_t>;
using Pairs = std::map<std::pair<std::int32_t, std::int32_t>, Merge>;

Tokens by_definition(const Pairs& pairs, Tokens tokens) {
  for (;;) {
    std::size_t best = tokens.size();
    Merge merge;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const auto found = pairs.find({tokens[i], tokens[i + 1]});
      if (found == pairs.end() || (merge.rank >= 0 && found->second.rank >= merge.rank)) continue;
      best = i;
      merge = found->second;
    }
    if (merge.rank < 0) return tokens;
    tokens[best] = merge.token;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(MergeTable, MergesTheSmallestRankFirstThenTheLeftmost) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Pairs pairs;
    MergeTable table;
    table.reserve(40);
    std::int32_t next = 3;
    for (int rank = 0; rank < 40; ++rank) {  // of three letters and what was merged before
      const auto left = static_cast<std::int32_t>(random() % static_cast<unsigned>(next));
      const auto right = static_cast<std::int32_t>(random() % static_cast<unsigned>(next));
      if (pairs.contains({left, right})) continue;
      pairs[{left, right}] = {rank, next};
      table.set(left, right, {rank, next++});
    }
    for (const std::size_t length : {0, 1, 2, 3, 17, 48, 49, 50, 200}) {
      Tokens tokens{99};
      for (std::size_t i = 0; i < length; ++i)
        tokens.push_back(static_cast<std::int32_t>(random() % 3));
      Tokens expected = by_definition(pairs, {tokens.begin() + 1, tokens.end()});
      expected.insert(expected.begin(), 99);  // what was there stays
      table.apply(tokens, 1);
      ASSERT_EQ(tokens, expected) << "round " << round << ", length " << length;
    }
  }
}

TEST(WordCache, FindsWhatWasPutAndForgetsWhenFull) {
  WordCache cache;
  EXPECT_TRUE(cache.find("a").empty());
  const int count = 600'000;  // more than it keeps
  for (int i = 0; i < count; ++i) cache.put(std::to_string(i), Tokens{i, -i});
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    const auto found = cache.find(std::to_string(i));
    if (found.empty()) continue;
    ++kept;
    ASSERT_EQ(Tokens(found.begin(), found.end()), (Tokens{i, -i}));
  }
  EXPECT_EQ(kept, count - (1 << 19));
}

}  // namespace
}  // namespace pleat
