// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives that are measured and not fitted: what each rank is asked for.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "calibration/microbench/expert_rows.hpp"
#include "calibration/microbench/host_links.hpp"
#include "calibration/microbench/rank_work.hpp"
#include "kernels/host_device.hpp"
#include "tests/calibration/noting_communicator.hpp"

namespace pleat {
namespace {

using test::NotingCommunicator;

std::vector<std::int64_t> received(const std::vector<std::vector<std::int64_t>>& rows) {
  std::vector<std::int64_t> sums(rows.size(), 0);
  for (const auto& from : rows)
    for (std::size_t to = 0; to < rows.size(); ++to) sums[to] += from[to];
  return sums;
}

// 64 experts on four ranks: of the harmonic number of 64 the first rank has that of 16.
TEST(ExpertRows, FirstRankGetsWhatItsExpertsDraw) {
  constexpr std::int64_t rows = 32768;
  for (const auto& [shares, first] : {std::pair{RowShares::even, 0.25},
                                      {RowShares::uniform, 0.25},
                                      {RowShares::zipf, 3.380729 / 4.743891},
                                      {RowShares::hot, 7.0 / 8 + 15.0 / 63 / 8}}) {
    const auto all = expert_rows(shares, 4, rows);
    for (const auto& from : all)
      EXPECT_EQ(std::accumulate(from.begin(), from.end(), std::int64_t{0}), rows);
    EXPECT_NEAR(static_cast<double>(received(all)[0]) / (4.0 * rows), first, 0.01)
        << name_of(shares);
    EXPECT_EQ(all, expert_rows(shares, 4, rows));
    EXPECT_EQ(all[0] == all[1], shares == RowShares::even) << name_of(shares);
  }
  // A rank of eight gets four times its mean and the rest of its experts' own.
  EXPECT_NEAR(static_cast<double>(received(expert_rows(RowShares::hot, 8, rows))[0]) / rows,
              4 + 4 * 7.0 / 63, 0.1);
}

TEST(ExpertRows, BusiestSendsOrGetsTheMost) {
  EXPECT_EQ(busiest({{9, 1}, {4, 9}}), 4);
  EXPECT_EQ(busiest({{0, 1, 1}, {3, 0, 0}, {3, 0, 0}}), 6);  // the first one gets six
  EXPECT_EQ(busiest({{0, 4, 4}, {1, 0, 0}, {1, 0, 0}}), 8);  // or sends eight
}

TEST(JudgedPoints, AreNamedApartAndNoneIsFitted) {
  std::set<std::string> names, judged;
  for (const int ranks : {2, 3, 4, 8}) {
    for (const CollectivePoint& p : collective_points(ranks)) {
      EXPECT_TRUE(names.insert(name_of(p)).second) << name_of(p);
      // 3 ranks are in no plan with others but as points of their own.
      EXPECT_EQ(judged_as(p), ranks == 3 && p.group == 3 ? "3 or 6 ranks" : "") << name_of(p);
    }
    for (const CollectivePoint& p : judged_points(ranks, std::int64_t{1} << 30U)) {
      EXPECT_TRUE(names.insert(name_of(p)).second) << name_of(p);
      EXPECT_NE(judged_as(p), "") << name_of(p);
      judged.insert(judged_as(p));
    }
  }
  for (const auto& points : {concurrent_points(8), both_ways_points(8)})
    for (const CollectivePoint& p : points)
      EXPECT_TRUE(names.insert(name_of(p)).second) << name_of(p);
  for (const CollectivePoint& p : concurrent_points(8)) EXPECT_EQ(judged_as(p), "") << name_of(p);
  EXPECT_EQ(judged, (std::set<std::string>{"below 1 KB", "bf16", "uneven rows"}));
  for (const char* name :
       {"all_reduce 8 B, 8 of 8 ranks", "send_recv 8 B, 2 of 8 ranks",
        "reduce_scatter (bf16) 65536 B, 8 of 8 ranks", "all_to_all (zipf) 16777216 B, 4 of 4 ranks",
        "send_recv (both ways) 65536 B, 2 of 2 ranks",
        "send_recv (both ways) 65536 B, 2 of 8 ranks, 4 apart"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_FALSE(names.contains("all_gather 8 B, 8 of 8 ranks"));  // no element for each
  EXPECT_TRUE(both_ways_points(1).empty());
}

TEST(JudgedPoints, GroupsOfNoPowerOfTwo) {
  EXPECT_TRUE(odd_group_points(2).empty());
  std::map<int, std::set<Collective>> kinds;
  std::set<std::string> names;
  for (const CollectivePoint& p : odd_group_points(8, std::int64_t{1} << 30U)) {
    EXPECT_TRUE(names.insert(name_of(p)).second) << name_of(p);
    EXPECT_EQ(judged_as(p), "3 or 6 ranks") << name_of(p);
    EXPECT_EQ(p.ranks, p.group);
    kinds[p.group].insert(p.kind);
  }
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[3].size(), 4U);
  EXPECT_EQ(kinds[6].size(), 4U);
  EXPECT_EQ(names.size(), 24U);
  EXPECT_TRUE(names.contains("all_to_all 67108864 B, 6 of 6 ranks"));
  for (const CollectivePoint& p : odd_group_points(5)) EXPECT_EQ(p.group, 3);
}

TEST(CopyPoints, EachWayAndBesideAProductAndAttention) {
  std::set<std::string> names, whats;
  for (const CopyPoint& p : copy_points()) {
    EXPECT_TRUE(names.insert(name_of(p)).second) << name_of(p);
    whats.insert(what_of(p));
    if (p.beside != CopiesBeside::nothing) {
      EXPECT_EQ(p.bytes, std::size_t{1} << 28U);
      EXPECT_EQ(name_of(p).find("alone") != std::string::npos, !p.up && !p.down);
    } else {
      EXPECT_TRUE(p.up || p.down);
    }
  }
  EXPECT_EQ(names.size(), 15U + 8);
  EXPECT_EQ(whats.size(), 3U + 8);
  for (const char* name :
       {"host_to_device 65536 B", "device_to_host 268435456 B", "both_ways 65536 B",
        "product alone of 8192x8192x8192", "product beside host_to_device of 8192x8192x8192",
        "attention alone of 8192 tokens", "attention beside device_to_host of 8192 tokens",
        "attention beside both_ways of 8192 tokens"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(RankWork, UnevenRowsAreSentUnevenly) {
  const auto host = host_device();
  constexpr std::int64_t rows = 128;
  const CollectivePoint p{.kind = Collective::all_to_all,
                          .group = 4,
                          .ranks = 4,
                          .bytes = rows * kExpertRowBytes,
                          .rows = RowShares::zipf};
  const auto all = expert_rows(RowShares::zipf, 4, rows);
  for (const int rank : {0, 2}) {
    NotingCommunicator comm(rank, 4);
    RankWork(comm, *host, p).run();
    ASSERT_EQ(comm.sent.size(), 4U);
    for (std::size_t r = 0; r < 4; ++r) {
      EXPECT_EQ(comm.sent[r], all[static_cast<std::size_t>(rank)][r] * kExpertRowBytes);
      EXPECT_EQ(comm.received[r], all[r][static_cast<std::size_t>(rank)] * kExpertRowBytes);
    }
  }
  // Far above what each would send if all got as many.
  EXPECT_GT(wire_bytes(p), 1.5 * static_cast<double>(rows * kExpertRowBytes) * 3 / 4);
  EXPECT_EQ(std::get<CollectiveSample>(sample_of(p, {}).point).wire, Bytes(wire_bytes(p)));
}

TEST(RankWork, SumsOfBf16AndMessagesBothWays) {
  const auto host = host_device();
  const auto calls = [&](const CollectivePoint& p) {
    NotingCommunicator comm(1, p.group);
    RankWork(comm, *host, p).run();
    return comm.calls;
  };
  using Calls = std::vector<std::string>;
  CollectivePoint p{.kind = Collective::all_reduce, .group = 4, .ranks = 4, .bytes = 4096};
  EXPECT_EQ(calls(p), Calls{"all_reduce of 1024 fp32"});
  p.type = DType::bf16;
  EXPECT_EQ(calls(p), Calls{"all_reduce of 2048 bf16"});
  p.kind = Collective::reduce_scatter;
  EXPECT_EQ(calls(p), Calls{"reduce_scatter to 512 bf16"});
  CollectivePoint m{.kind = Collective::send_recv, .group = 2, .ranks = 2, .bytes = 64};
  EXPECT_EQ(calls(m), (Calls{"recv 64", "send 64"}));
  m.messages = Messages::both_ways;
  EXPECT_EQ(calls(m), (Calls{"send 64", "recv 64"}));
  m.messages = Messages::in_one_call;
  EXPECT_EQ(calls(m), Calls{"all_to_all"});
  EXPECT_EQ(wire_bytes(m), 64);
}

}  // namespace
}  // namespace pleat
