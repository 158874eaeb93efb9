// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A cluster of one's own with a GPU that ships: which of the shipped profile it keeps.
#include "core/spec/borrowed_profile.hpp"

#include <gtest/gtest.h>

#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

class BorrowedProfile : public ::testing::Test {
 protected:
  ClusterSpec h100 = load_cluster("h100-sxm");
  Profile measured = load_profile("h100-sxm-megatron");
  ClusterSpec own = [] {
    ClusterSpec c = load_cluster("h100-sxm");
    c.name = "ours";
    return c;
  }();
};

TEST_F(BorrowedProfile, ACopyUnderAnotherNameKeepsAll) {
  const Profile p = borrow_profile(measured, h100, own);
  EXPECT_EQ(p.name, "h100-sxm-megatron");
  EXPECT_EQ(p.borrowed_from, "h100-sxm");
  Profile expected = measured;
  expected.cluster = "ours";
  expected.borrowed_from = "h100-sxm";
  expected.provenance = p.provenance;
  EXPECT_EQ(p, expected);
}

TEST_F(BorrowedProfile, AnotherNetworkHasRoundCollectivesAndAWiderBand) {
  own.tiers[1].bandwidth = own.tiers[1].bandwidth / 2;
  const Profile p = borrow_profile(measured, h100, own);
  EXPECT_EQ(p.collectives[0], measured.collectives[0]);
  EXPECT_EQ(p.collectives[1], datasheet_profile("ours", 2, Runtime::megatron).collectives[1]);
  EXPECT_EQ(p.kernels, measured.kernels);
  EXPECT_TRUE(p.collective_times == measured.collective_times);
  EXPECT_DOUBLE_EQ(p.relative_band, 0.2);
  ASSERT_EQ(p.dispatch.size(), measured.dispatch.size());
  for (std::size_t i = 0; i < p.dispatch.size(); ++i) {
    const double share = p.dispatch[i].tier == 0 ? 1.0 : 0.5;
    EXPECT_EQ(p.dispatch[i].dispatch, share * measured.dispatch[i].dispatch) << i;
    EXPECT_EQ(p.dispatch[i].combine, share * measured.dispatch[i].combine) << i;
  }
}

TEST_F(BorrowedProfile, AnotherNvlinkLosesWhatWasMeasuredWithin) {
  own.tiers[0].size = 4;
  const Profile p = borrow_profile(measured, h100, own);
  EXPECT_TRUE(p.collective_table.empty());
  EXPECT_EQ(p.collectives[1], measured.collectives[1]);
  for (const DispatchRate& r : p.dispatch) EXPECT_EQ(r.tier, 1);
}

TEST_F(BorrowedProfile, AnotherGpuBorrowsNothing) {
  EXPECT_TRUE(has_gpu_of(own, h100));
  own.gpu.memory = own.gpu.memory / 2;
  EXPECT_FALSE(has_gpu_of(own, h100));
  EXPECT_FALSE(profile_on(measured, own).has_value());
  EXPECT_EQ(profile_on(measured, h100), measured);
}

}  // namespace
}  // namespace pleat
