// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What one offer costs: exact values where failures do not matter, the identity of paid time,
// properties, feasibility rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "planner/capacity/placement.hpp"
#include "planner/capacity/price_basis.hpp"
#include "planner/capacity/sizes.hpp"
#include "planner/capacity/tuning.hpp"
#include "tests/planner/capacity/capacity_case.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

using namespace test;
using ::testing::HasSubstr;

TEST(Booking, ExactWhereAlmostNothingFails) {
  const Rates rates = round_rates().with(Rate::gpu_mtbf, 1e9).with(Rate::mtbf_factor_small, 1)
                          .with(Rate::mtbf_factor, 1);
  const Booking b = book(round_job(), rates, 4e12);  // a million steps
  EXPECT_EQ(b.steps, 1e6);
  EXPECT_EQ(b.save.checkpoint, Bytes(1.4e12));
  EXPECT_DOUBLE_EQ(b.save.stall.base(), 2 + 1.4e12 / 1024 / 50e9);
  EXPECT_DOUBLE_EQ(b.save.upload.base(), 1.4e12 / 102.4e9);
  EXPECT_EQ(b.placement.paid_gpus, 1024);  // 2e-5 nodes away on average
  EXPECT_NEAR(b.finish.p50.base(), 1e7 / 0.999, 1e7 * 0.002);
  EXPECT_NEAR(b.dollars_p50, 2 * 1024 * b.finish.p50.base() / 3600, 1);
  // 1024 GPUs, 700 W each, times 1.25 and 1.2, for 1e7 s.
  EXPECT_NEAR(b.energy_mwh, 1024 * 700 * 1.5 * 1e7 / 3.6e9, 0.002 * 2987);
}

TEST(Booking, TuningAndLoadsAreInBothQuantiles) {
  const Rates rates = round_rates().with(Rate::gpu_mtbf, 1e9).with(Rate::mtbf_factor_small, 1)
                          .with(Rate::mtbf_factor, 1);
  Job job = round_job();
  const Booking as_predicted = book(job, rates, 4e12);
  job.practice = 1.25;
  EXPECT_EQ(run_step(job), Seconds(12.5));
  EXPECT_EQ(run_spread(job), 1);
  const Booking slower = book(job, rates, 4e12);
  EXPECT_NEAR(slower.finish.p50 / as_predicted.finish.p50, 1.25, 0.002);
  EXPECT_NEAR(slower.finish.p90 / as_predicted.finish.p90, 1.25, 0.002);
  job.band = 0.1;
  job.practice_spread = 1.5;
  job.load_spread = 1.2;
  EXPECT_NEAR(std::log(run_spread(job)),
              std::hypot(std::log(1.1), std::log(1.5), std::log(1.2)), 1e-12);
  const Booking spread = book(job, rates, 4e12);
  EXPECT_NEAR(spread.finish.p50 / slower.finish.p50, 1, 0.01);
  EXPECT_NEAR(spread.finish.p90 / slower.finish.p90, run_spread(job), 0.02);
}

TEST(Tuning, WordsAndOrder) {
  EXPECT_EQ(tuning_named("typical"), Tuning::typical);
  EXPECT_EQ(tuning_named("good"), std::nullopt);
  EXPECT_EQ(facts_of(Tuning::best).median, 1);
  EXPECT_LT(facts_of(Tuning::typical).median, facts_of(Tuning::untuned).median);
  EXPECT_LT(facts_of(Tuning::typical).p90, facts_of(Tuning::untuned).p90);
}

TEST(PriceBasis, SaysWhatPricesHaveInCommon) {
  const auto priced = [](const char* cluster, const RateValue& price) {
    Offer o;
    o.cluster = cluster;
    o.rates.set(Rate::price, price);
    return o;
  };
  const Offer one = priced("one", {2, "a list", "2026-03-17", false, "on demand"});
  const Offer two = priced("two", {3, "a guess", "", true, "on demand"});
  const Offer old = priced("old", {1, "a list", "2026", false, "reserved"});
  const Offer own = priced("own", {1, "--price", "", false});
  EXPECT_EQ(price_basis_text(price_basis({one, one})), "prices on demand as of 2026-03-17");
  EXPECT_EQ(price_basis_text(price_basis({one, two})),
            "prices on demand as of 2026-03-17; assumed: two");
  EXPECT_EQ(price_basis_text(price_basis({one, old, own})),
            "prices on demand and reserved as of 2026 to 2026-03-17, which are not alike; as "
            "given: own");
  EXPECT_EQ(price_basis_text(price_basis({own})), "as given: own");
}

TEST(Booking, PaidTimeAddsUp) {
  std::mt19937_64 random(1);
  const auto between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  };
  int runnable = 0;
  for (int i = 0; i < 2000; ++i) {
    Job job = round_job(8 << std::uniform_int_distribution<int>(0, 13)(random));
    job.step = Seconds(between(0.05, 300));
    job.parameters = static_cast<std::int64_t>(between(1e9, 3e12));
    job.domain = i % 3 == 0 ? 72 : 8;
    job.gpus_per_node = i % 3 == 0 ? 4 : 8;
    job.used_in_domain = i % 3 == 0 ? 64 : 8;
    const Rates rates = round_rates()
                            .with(Rate::gpu_mtbf, between(1e3, 1e7))
                            .with(Rate::restart, between(0.1, 120))
                            .with(Rate::booked_gpus, i % 2 == 0 ? 72 : 4)
                            .with(Rate::background_saves, i % 5 != 0);
    const Booking b = book(job, rates, between(1e9, 3e13));
    if (!b.problem.empty()) continue;
    ++runnable;
    EXPECT_NEAR(b.paid.sum() / b.paid.paid, 1, 1e-9);
    EXPECT_NEAR(b.paid.paid / (b.placement.paid_gpus * b.finish.expected.base()), 1, 1e-9);
    EXPECT_GE(b.placement.paid_gpus, job.gpus);
    EXPECT_GE(b.save.interval_steps * job.step.base(),
              std::min(b.save.upload.base(), b.steps * job.step.base()) * (1 - 1e-12));
    EXPECT_LE(b.finish.p50, b.finish.p90);
    EXPECT_GT(b.goodput, 0);
    EXPECT_LE(b.goodput, 1);
  }
  EXPECT_GT(runnable, 1000);
}

TEST(Booking, MoreMtbfIsNeverSlowerNorDearer) {
  Booking last;
  last.finish = {Seconds(1e18), Seconds(1e18), Seconds(1e18)};
  last.dollars_p90 = 1e18;
  int compared = 0;
  for (double hours = 2000; hours < 1e8; hours *= 1.2) {
    const Booking b = book(round_job(8192), round_rates().with(Rate::gpu_mtbf, hours), 4e12);
    if (!b.problem.empty()) continue;
    EXPECT_LE(b.finish.expected, last.finish.expected * (1 + 1e-12)) << hours;
    EXPECT_LE(b.finish.p50, last.finish.p50 * (1 + 1e-9)) << hours;
    EXPECT_LE(b.finish.p90, last.finish.p90 * (1 + 1e-9)) << hours;
    EXPECT_LE(b.dollars_p90, last.dollars_p90 * (1 + 1e-9)) << hours;
    last = b;
    ++compared;
  }
  EXPECT_GT(compared, 40);
}

TEST(Booking, TheIntervalIsTheBestWholeNumberOfSteps) {
  const Booking b = book(round_job(), round_rates(), 4e12);
  SaveCycle cycle;
  cycle.stall = b.save.stall;
  cycle.upload = b.save.upload;
  cycle.restart = Seconds(600 + 1.4e12 / 102.4e9);
  cycle.mtbf = b.mtbf;
  const auto cost = [&](std::int64_t steps) {
    cycle.work = Seconds(10.0 * static_cast<double>(steps));
    return expected_cycle(cycle).total() / cycle.work;
  };
  EXPECT_GT(b.save.interval_steps, 2);
  EXPECT_LE(cost(b.save.interval_steps), cost(b.save.interval_steps - 1));
  EXPECT_LE(cost(b.save.interval_steps), cost(b.save.interval_steps + 1));
}

// 1.4 TB of checkpoint over 128 nodes are 10.9375 GB each; half of 2048 GB is usable.
TEST(Booking, SavesBlockWhereTheNodeHasNoRoomForTheCheckpoint) {
  Job job = round_job();
  job.host_bytes = 1'013'062'500'000;
  EXPECT_TRUE(book(job, round_rates(), 4e12).save.background);
  job.host_bytes += 1'000;
  const Booking blocking = book(job, round_rates(), 4e12);
  EXPECT_EQ(blocking.problem, "");
  EXPECT_FALSE(blocking.save.background);
  EXPECT_EQ(blocking.save.upload, Seconds(0));
  EXPECT_TRUE(book(job, round_rates().with(Rate::host_memory_share, 0.51), 4e12).save.background);
  job.host_memory = Bytes(0);  // not said
  EXPECT_TRUE(book(job, round_rates(), 4e12).save.background);
}

TEST(Booking, AJobBelowANodeStagesItsWholeCheckpoint) {
  Job job = round_job(4);
  job.parameters = 73'000'000'000;  // 1.022 TB of 1.024 usable
  EXPECT_TRUE(book(job, round_rates(), 4e9).save.background);
  job.parameters = 74'000'000'000;  // 1.036 TB
  EXPECT_FALSE(book(job, round_rates(), 4e9).save.background);
}

TEST(Booking, NoProgress) {
  const Booking b = book(round_job(), round_rates().with(Rate::gpu_mtbf, 10), 4e12);
  EXPECT_EQ(b.problem, "no progress: a failure every 35 s, a restart takes 614 s");
}

Job rack_job(int gpus, int used) {
  Job job = round_job(gpus);
  job.domain = 72;
  job.used_in_domain = used;
  job.gpus_per_node = 4;
  return job;
}

TEST(Placement, PartOfARackIsPaidForAndSpare) {
  const Rates racks = round_rates().with(Rate::booked_gpus, 72);
  const Placement p = place_job(rack_job(256, 64), racks).placement;
  EXPECT_EQ(p.domains, 4);
  EXPECT_EQ(p.paid_gpus, 288);
  EXPECT_EQ(p.spare_units, 8);  // two trays a rack
  EXPECT_EQ(p.unit_gpus, 4);
  const Placement trays =
      place_job(rack_job(256, 64), round_rates().with(Rate::booked_gpus, 4)).placement;
  EXPECT_EQ(trays.paid_gpus,
            256 + 4 * 8);           // two trays a rack instead of two racks, 0.1 away on average
  EXPECT_EQ(trays.spare_units, 8);  // one a rack: P = 0.9988
}

TEST(Placement, AFullRackNeedsARackAsSpare) {
  const Placement p =
      place_job(rack_job(288, 72), round_rates().with(Rate::booked_gpus, 72)).placement;
  EXPECT_EQ(p.unit_gpus, 72);
  EXPECT_EQ(p.spare_units, 2);  // 288 / 50,000 x 0.4 x 48 = 0.11 away: P(<= 1) = 0.994
  EXPECT_EQ(p.paid_gpus, 288 + 144);
}

// 72 + 72 + 56 and two racks as spares, 0.077 away on average, or 64 + 64 + 64 + 8 with two trays
// of each rack: stages of 8 may lie either way, those of 72 may not.
TEST(Placement, TraysLeftIdleInEveryRackMayBeCheaperThanSpareRacks) {
  const Rates racks = round_rates().with(Rate::booked_gpus, 72);
  Job job = rack_job(200, 72);
  job.stage_gpus = 8;
  const Placement p = place_job(job, racks).placement;
  EXPECT_EQ(p.paid_gpus, 288);
  EXPECT_EQ(p.domains, 4);
  EXPECT_EQ(p.used_in_domain, 64);
  EXPECT_EQ(p.used_in_last, 8);
  EXPECT_EQ(p.unit_gpus, 4);
  EXPECT_EQ(p.spare_units, 8);
  job.stage_gpus = 72;
  const Placement whole = place_job(job, racks).placement;
  EXPECT_EQ(whole.paid_gpus, 216 + 144);
  EXPECT_EQ(whole.used_in_domain, 72);
  // One rack: two would put neighbouring stages into different ones.
  job = rack_job(72, 72);
  job.stage_gpus = 8;
  EXPECT_EQ(place_job(job, racks).placement.paid_gpus, 144);
  // Nodes are bought one by one: none has to be left idle.
  job = round_job(1024);
  job.stage_gpus = 4;
  EXPECT_EQ(place_job(job, round_rates()).placement.paid_gpus, 1024 + 24);
}

TEST(Placement, NodesOfEight) {
  const Placement p = place_job(round_job(1024), round_rates()).placement;
  EXPECT_EQ(p.domains, 128);
  EXPECT_EQ(p.spare_units, 3);  // 0.393 away on average: P(<= 2) = 0.9923, P(<= 3) = 0.9993
  EXPECT_EQ(p.paid_gpus, 1024 + 24);
}

// 12 nodes filled up, 4 GPUs of another: whole nodes are booked, and bought as spares.
TEST(Placement, TheLastNodeMayBeUsedInPart) {
  const Placement p = place_job(round_job(100), round_rates()).placement;
  EXPECT_EQ(p.domains, 13);
  EXPECT_EQ(p.used_in_last, 4);
  EXPECT_EQ(p.spare_units, 1);  // 0.038 nodes away on average: P(0) = 0.962, P(<= 1) = 0.9993
  EXPECT_EQ(p.paid_gpus, 104 + 8);
  const Placement one_by_one =
      place_job(round_job(100), round_rates().with(Rate::booked_gpus, 1)).placement;
  EXPECT_EQ(one_by_one.paid_gpus, 100 + 8);
  const Placement racks =
      place_job(rack_job(100, 72), round_rates().with(Rate::booked_gpus, 72)).placement;
  EXPECT_EQ(racks.domains, 2);
  EXPECT_EQ(racks.used_in_last, 28);
  EXPECT_EQ(racks.unit_gpus, 72);  // trays of the second rack are no spares of the first one's
  EXPECT_EQ(racks.spare_units, 1);
  EXPECT_EQ(racks.paid_gpus, 144 + 72);
}

TEST(Placement, StagesThatFillNodesSaveSome) {
  EXPECT_EQ(stages_that_fill(100, 8, 5), (std::vector<int>{25, 50, 100}));
  EXPECT_TRUE(stages_that_fill(96, 8, 8).empty());
  EXPECT_TRUE(stages_that_fill(4, 8, 4).empty());
  EXPECT_TRUE(stages_that_fill(256, 72, 64).empty());  // four racks either way
  EXPECT_EQ(stages_that_fill(1024, 72, 64), (std::vector<int>{128, 256, 512, 1024}));
}

TEST(Placement, LessThanHalfOfARackIsRefused) {
  EXPECT_THAT(place_job(rack_job(2 * 31, 31), round_rates()).problem,
              HasSubstr("62 GPUs fill only 31 of the 72"));
  EXPECT_EQ(place_job(rack_job(31, 31), round_rates()).problem, "");  // one rack is enough
}

TEST(Sizes, DoublingsOfGpusAndOfRacks) {
  ClusterSpec racks = small_cluster();
  racks.tiers.front().size = 72;
  EXPECT_EQ(sizes_to_try({.least = 100, .most = 600}, racks),
            (std::vector<int>{128, 144, 256, 288, 512, 576}));
  EXPECT_EQ(sizes_to_try({.least = 100, .most = 600}, small_cluster()),
            (std::vector<int>{128, 256, 512}));
  EXPECT_EQ(sizes_to_try({.least = 100, .most = 500, .step = 150}, racks),
            (std::vector<int>{150, 300, 450}));
  EXPECT_EQ(sizes_to_try({.exact = {512, 64, 64}}, racks), (std::vector<int>{64, 512}));
  EXPECT_TRUE(sizes_to_try({.least = 300, .most = 500}, small_cluster()).empty());
}

}  // namespace
}  // namespace pleat
