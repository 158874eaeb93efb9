// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Packed documents against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "core/spec/workload.hpp"

namespace pleat {
namespace {

WorkloadSpec packed(std::int64_t seq_len, std::vector<std::int64_t> documents) {
  WorkloadSpec w;
  w.seq_len = seq_len;
  w.documents = std::move(documents);
  return w;
}

TEST(Packing, WithoutDocumentsASequenceIsOne) {
  EXPECT_EQ(packing_of(packed(4096, {}), 8).mean_length, 4096);
  EXPECT_EQ(packing_of(packed(4096, {}), 8).variation, 0);
  EXPECT_EQ(packing_of(packed(4096, {4096}), 1).mean_length, 4096);
}

TEST(Packing, MeanIsByTokensNotByDocuments) {
  const Packing p = packing_of(packed(4096, {1024, 3072}), 1);
  EXPECT_DOUBLE_EQ(p.mean_length, (1024.0 * 1024 + 3072.0 * 3072) / 4096);  // 2560
  // l^2 - 2560 l is -1572864 and +1572864; two documents a sequence: sqrt(2) 1572864 over 4096 *
  // 2560.
  EXPECT_NEAR(p.variation, std::sqrt(2.0) * 1572864 / (4096.0 * 2560), 1e-12);
}

TEST(Packing, EqualDocumentsDoNotVary) {
  EXPECT_EQ(packing_of(packed(4096, {512, 512}), 1).mean_length, 512);
  EXPECT_EQ(packing_of(packed(4096, {512, 512}), 1).variation, 0);
}

TEST(Packing, LongDocumentsAreCutAndShortOnesPadded) {
  EXPECT_EQ(packing_of(packed(4096, {100'000}), 1).mean_length, 4096);
  EXPECT_EQ(packing_of(packed(4096, {1000}), 8).mean_length, 1008);  // a multiple of 16
  EXPECT_EQ(packing_of(packed(4096, {1000}), 1).mean_length, 1000);
}

TEST(Packing, LongContextDoesNotOverflow) {
  const std::int64_t s = std::int64_t{1} << 40;
  const double length = static_cast<double>(s);
  EXPECT_DOUBLE_EQ(packing_of(packed(s, {s, s}), 1).mean_length, length);
}

}  // namespace
}  // namespace pleat
