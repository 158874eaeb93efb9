// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/profile.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/diagnostics.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

// A value in (0, 1] with all its digits.
struct Digits {
  double state = 0.123456789;
  double next() { return state = 3.99 * state * (1 - state); }
};

Profile awkward_profile() {
  Digits digits;
  Profile p = datasheet_profile("here", 3, Runtime::pleat);
  p.name = "a \"name\"\n";
  p.created = "2026-11-21T10:00:00Z";
  for (EfficiencyCurve& curve : p.kernels) {
    curve = {.max_efficiency = digits.next(),
             .half_work = Flops(1e9 * digits.next()),
             .memory_efficiency = digits.next(),
             .fixed = Seconds(1e-5 * digits.next()),
             .source = SourceClass::fitted};
  }
  for (auto& row : p.collectives) {
    for (CollectiveCurve& curve : row) {
      curve = {.latency = Seconds(1e-5 * digits.next()),
               .latency_per_rank = Seconds(1e-7 * digits.next()),
               .efficiency = digits.next(),
               .source = SourceClass::measured};
    }
  }
  p.host_per_op = Seconds(1e-6 * digits.next());
  p.host_per_sharded_weight = Seconds(1e-4 * digits.next());
  p.dp_beside_compute = digits.next();
  p.dp_beside_pipeline = digits.next();
  p.slowest_host = digits.next();
  p.slowest_host_from = 32;
  p.unbound_host = 1 + digits.next();
  p.token_mixing_rate = digits.next();
  p.band_terms = {.era = digits.next(),
                  .experts = digits.next(),
                  .nccl_exchange = digits.next(),
                  .sharded = digits.next(),
                  .hybrid = digits.next(),
                  .doubling = digits.next(),
                  .largest_run = 4096};
  p.sharing_penalty = 1 + digits.next();
  p.relative_band = digits.next();
  return p;
}

// Every time of the host that a step waits for, and nothing else.
TEST(Profile, AnUnboundHostIsSlowerInAllItsTimes) {
  const Profile p = awkward_profile();
  Profile slow = p;
  slow_host(slow, 2.5);
  EXPECT_EQ(slow.host_per_op, p.host_per_op * 2.5);
  EXPECT_EQ(slow.host_per_sharded_weight, p.host_per_sharded_weight * 2.5);
  EXPECT_EQ(slow.host_per_moe_layer.none, p.host_per_moe_layer.none * 2.5);
  EXPECT_EQ(slow.host_per_dense_layer.full_iteration, p.host_per_dense_layer.full_iteration * 2.5);
  EXPECT_EQ(slow.step_overhead, p.step_overhead);
  EXPECT_EQ(slow.gemm, p.gemm);
}

TEST(Profile, RoundTripIsExact) {
  const Profile p = awkward_profile();
  EXPECT_EQ(read_profile(write_profile(p), "p.json"), p);
  for (Runtime runtime : {Runtime::pleat, Runtime::megatron}) {
    const Profile d = datasheet_profile("c", 2, runtime);
    EXPECT_EQ(read_profile(write_profile(d), "p.json"), d);
  }
}

// Every optional part, read back bit for bit.
TEST(Profile, MeasuredPartsRoundTrip) {
  Digits digits;
  Profile p = awkward_profile();
  p.gemm.tiles = {{256, 128}, {64, 64}};
  GemmLaw& law = p.gemm.by_math[static_cast<std::size_t>(GemmMath::fp8_block)];
  law = {.rate = FlopsPerSecond(1e15 * digits.next()),
         .depth = 100 * digits.next(),
         .fixed = Seconds(1e-6 * digits.next()),
         .bandwidth = BytesPerSecond(1e12 * digits.next()),
         .tile_exponent = digits.next(),
         .wave = digits.next(),
         .source = SourceClass::measured,
         .table = "tables/some.csv",
         .corrections = {}};
  p.gemm.grouped = {Seconds(1.6e-6), Seconds(2.4e-6), Seconds(1e-6), digits.next(), 32};
  AttentionRate& rate = p.attention[1][2][0];
  rate.log_seq = {std::log(2048.0), std::log(4096.0)};
  rate.rate = {1e15 * digits.next(), 1e15 * digits.next()};
  rate.source = SourceClass::measured;
  p.dispatch = {{.kernel = DispatchKernel::hybridep,
                 .tier = 1,
                 .ranks = 16,
                 .sms = 24,
                 .dispatch = BytesPerSecond(1e11 * digits.next()),
                 .combine = BytesPerSecond(1e11 * digits.next()),
                 .source = SourceClass::measured}};
  p.collective_table = "tables/other.csv";
  p.collectives[0][0].slow_start = Bytes(1e6 * digits.next());
  p.collectives[1][3].small_message = Bytes(1e5 * digits.next());
  p.sustained_clock = {.gemm_bf16 = digits.next(),
                       .gemm_fp8 = digits.next(),
                       .attention = digits.next(),
                       .duty_slope = digits.next(),
                       .duty_free = digits.next(),
                       .floor = digits.next()};
  p.overlap_efficiency = digits.next();
  p.host_per_moe_layer.partial = Seconds(1e-3 * digits.next());
  p.host_busy_per_layer = Seconds(1e-3 * digits.next());
  p.tp_skew = Seconds(1e-4 * digits.next());
  Era era{.name = "release-1", .run = p};
  era.run.tp_overlap_exposed = digits.next();
  era.run.host_per_dense_layer.none = Seconds(1e-4 * digits.next());
  era.run.host_per_head = Seconds(1e-4 * digits.next());
  p.eras = {era, {.name = "release-2", .run = p}};
  EXPECT_EQ(read_profile(write_profile(p), "p.json"), p);
}

// Attention's graphs save what `partial` saves beside `router`, never more than `partial`.
TEST(Profile, HostTimeOfAttentionsGraphs) {
  const auto of = [](double none, double router, double partial) {
    return ByGraph{Seconds(none), Seconds(router), Seconds(partial), Seconds(0)}.at(1).base();
  };
  EXPECT_DOUBLE_EQ(of(10, 8, 5), 7);
  EXPECT_DOUBLE_EQ(of(10, 10, 4), 4);
  EXPECT_DOUBLE_EQ(of(10, 0, 6), 10);  // the router's is not given
  EXPECT_DOUBLE_EQ(of(3, 3, 3), 3);
  EXPECT_DOUBLE_EQ((ByGraph{Seconds(1), Seconds(2), Seconds(3), Seconds(4)}.at(4).base()), 4);
}

// A scope without a time would have none at all. The executor's own profiles count launches alone.
TEST(Profile, ShippedOnesForMegatronHaveHostTimesOfEveryScope) {
  int seen = 0;
  for (const std::string& name : config_names(ConfigKind::profile)) {
    const Profile p = load_profile(name);
    if (p.runtime != Runtime::megatron) continue;
    ++seen;
    for (std::size_t scope = 0; scope < 5; ++scope) {
      EXPECT_GT(p.host_per_moe_layer.at(scope), Seconds(0)) << name << " " << scope;
      EXPECT_GT(p.host_per_dense_layer.at(scope), Seconds(0)) << name << " " << scope;
    }
  }
  EXPECT_GE(seen, 8);
}

TEST(Profile, ErasOverrideSomeConstants) {
  Profile p = datasheet_profile("c", 1, Runtime::megatron);
  Era era{.name = "old", .run = p};
  era.run.overlap_efficiency = 0.25;
  p.eras = {era};
  EXPECT_EQ(for_era(p, "old").overlap_efficiency, 0.25);
  EXPECT_EQ(for_era(p, "old").host_per_op, p.host_per_op);
  EXPECT_EQ(for_era(p, "old").kernels, p.kernels);
  EXPECT_EQ(for_era(p, "newer"), p);
  EXPECT_EQ(for_era(p, ""), p);
}

TEST(Profile, OneClockForAllAndFamiliesLikeCopies) {
  Profile p = datasheet_profile("c", 1, Runtime::pleat);
  std::string text = write_profile(p);
  const auto cut = [&](const std::string& key, const std::string& instead) {
    const std::size_t at = text.find("\"" + key + "\": {");
    ASSERT_NE(at, std::string::npos) << key;
    const std::size_t end = text.find('}', at);
    text.replace(at, end + 1 - at, instead);
  };
  cut("sustained_clock", "\"sustained_clock\": 0.75");
  const std::size_t router = text.find("\"router\": {");
  text.replace(router, text.find('}', router) + 2 - router, "");
  const Profile read = read_profile(text, "p.json");
  EXPECT_EQ(read.sustained_clock.gemm_bf16, 0.75);
  EXPECT_EQ(read.sustained_clock.gemm_fp8, 0.75);
  EXPECT_EQ(read.sustained_clock.attention, 0.75);
  EXPECT_EQ(read.kernel(KernelClass::router), read.kernel(KernelClass::memory_bound));
  EXPECT_EQ(read.kernel(KernelClass::norm), p.kernel(KernelClass::norm));
}

TEST(Profile, DutyLowersTheClock) {
  const SustainedClock c{.duty_slope = 0.5, .duty_free = 0.2, .floor = 0.7};
  EXPECT_EQ(duty_clock(c, 0.1), 1.0);
  EXPECT_DOUBLE_EQ(duty_clock(c, 0.6), 0.8);
  EXPECT_EQ(duty_clock(c, 1.0), 0.7);
}

TEST(Profile, DatasheetIsMarkedAsSuch) {
  const Profile p = datasheet_profile("gb300-nvl72", 0, Runtime::megatron);
  EXPECT_EQ(p.cluster, "gb300-nvl72");
  EXPECT_EQ(p.collectives.size(), 1U);
  EXPECT_GE(p.relative_band, 0.3);
  for (const EfficiencyCurve& curve : p.kernels) EXPECT_EQ(curve.source, SourceClass::datasheet);
}

TEST(Profile, MissingPartsAreAllNamed) {
  try {
    (void)read_profile(
        R"({"schema_version": 1, "name": "x", "cluster": "c", "runtime": "cuda", "provenance": "",
"kernels": {"gemm": {}}, "collectives": []})",
        "p.json");
    FAIL();
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    for (const char* part :
         {"p.json:1:63: runtime: unknown value \"cuda\"", "kernels.gemm.max_efficiency: missing",
          "kernels.grouped_gemm: missing", "collectives: needs at least one tier",
          "host_per_op: missing", "sustained_clock: missing", "relative_band: missing"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " not in\n" << text;
    }
    EXPECT_EQ(text.find("grouped_gemm.max_efficiency"), std::string::npos) << text;  // said once
  }
}

}  // namespace
}  // namespace pleat
