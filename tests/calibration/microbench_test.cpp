// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The sweeps run on the real kernels; a short calibration gives a usable profile.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "calibration/calibrate.hpp"
#include "calibration/microbench/points.hpp"
#include "core/median.hpp"

namespace pleat {
namespace {

TEST(Clock, MedianOfOddEvenAndNothing) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), 0);
}

TEST(Clock, StopsAtTheLimits) {
  int calls = 0;
  const KernelPoint point{
      .name = "count",
      .kernel = KernelClass::memory_bound,
      .flops = 0,
      .bytes = 1e9,  // one set of buffers
      .prepare = [&](Bench&, unsigned) -> std::function<void()> { return [&] { ++calls; }; }};
  const auto bench = cpu_bench();
  const Timing t = time_alone(*bench, point, {.seconds = 10, .repeats = 5});
  EXPECT_EQ(t.repeats, 5);
  EXPECT_EQ(t.seconds.size(), 5U);
  EXPECT_EQ(calls, 6);  // and the warm-up
}

// As many sets as hold what is asked for: bytes that are moved twice are held once.
TEST(Clock, GoesRoundBuffersByWhatTheyHold) {
  const auto bench = cpu_bench();
  const auto sets_of = [&](double held, double moved) {
    int sets = 0;
    const KernelPoint point{.name = "count",
                            .kernel = KernelClass::optimizer,
                            .flops = 0,
                            .bytes = moved,
                            .prepare = [&](Bench&, unsigned) -> std::function<void()> {
                              ++sets;
                              return [] {};
                            },
                            .held = held};
    (void)time_alone(*bench, point, {.seconds = 10, .repeats = 1});
    return sets;
  };
  const double cache = 32.0 * (1 << 20U);
  EXPECT_EQ(sets_of(16e3, 28e3), 32);
  EXPECT_EQ(sets_of(cache / 2, 0.875 * cache), 16);
  EXPECT_EQ(sets_of(cache, 1.75 * cache), 8);
  EXPECT_EQ(sets_of(4 * cache, 7 * cache), 2);
  EXPECT_EQ(sets_of(16 * cache, 28 * cache), 1);
  EXPECT_EQ(sets_of(0, cache), 8);  // held as often as moved
}

// What a state's point says that its buffers hold is what it allocates.
TEST(Points, StateHoldsItsBuffers) {
  struct Counting final : Bench {
    KernelSet& kernels() override { return *set; }
    [[nodiscard]] DType floats() const override { return DType::fp32; }
    void* allocate(std::size_t bytes) override {
      held += static_cast<double>(bytes);
      return std::calloc(bytes, 1);
    }
    void release(void* data) override { std::free(data); }
    void upload(void*, const void*, std::size_t) override {}
    void fill(View, unsigned) override {}
    double seconds(const std::function<void()>&) override { return 0; }
    double now() override { return 0; }
    [[nodiscard]] double rotated_bytes(KernelClass) const override { return 0; }
    std::unique_ptr<KernelSet> set = cpu_kernels();
    double held = 0;
  };
  for (const KernelPoint& p : state_points()) {
    Counting bench;
    (void)p.prepare(bench, 1);
    EXPECT_EQ(bench.held, p.held) << p.name;
  }
}

// A GPU's points on the reference kernels: what each call reads and writes, and that it can be
// called.
TEST(Points, BothCopiesOfAnOperandAndOfWhatSwigluMakes) {
  const auto bench = cpu_bench();
  constexpr double n = 64 * 4096;  // bf16 read, two copies of codes written
  const std::map<std::string, double> bytes{{"quantize copies of 128 64x4096", 4 * n},
                                            {"quantize copies of 32 64x4096", 4 * n},
                                            {"swiglu_quantize copies of 128 64x4096", 6 * n},
                                            {"swiglu_quantize copies of 32 64x4096", 6 * n}};
  std::size_t seen = 0;
  for (const KernelPoint& p : narrow_points(PointSet::gpu)) {
    const auto want = bytes.find(p.name);
    if (want == bytes.end()) continue;
    ++seen;
    EXPECT_EQ(p.bytes, want->second) << p.name;
    EXPECT_EQ(p.kernel, KernelClass::quantize);
    EXPECT_GT(time_alone(*bench, p, {.seconds = 0.001, .repeats = 1}).seconds.front(), 0) << p.name;
  }
  EXPECT_EQ(seen, bytes.size());
}

// Pieces in which every query sees every key, on the reference kernels: queries and keys of as many
// rows as the work says, of a chunk in buffers of their own.
TEST(Points, AttentionOfAllKeysAndOfAChunk) {
  const auto bench = cpu_bench();
  constexpr double heads = 32, d = 128;
  const std::map<std::string, double> pairs{{"full_attention", 64.0 * 64},
                                            {"chunk_attention", 64.0 * 128}};
  std::map<std::string, int> seen;
  for (const KernelPoint& p : attention_piece_points(64)) {
    const auto& size = std::get<AttentionSize>(p.shape);
    EXPECT_NE(size.pieces, size.all_keys) << p.name;
    if (!size.all_keys) continue;
    const bool backward = p.kernel == KernelClass::attention_bwd;
    const std::string kind = p.name.substr(0, p.name.find_first_of(". "));
    const std::string keys = kind == "full_attention" ? " 1x64 of 64" : " 1x64 of 128";
    if (p.name.find(keys + ",") == std::string::npos) continue;
    ++seen[kind];
    EXPECT_EQ(p.flops, 2 * pairs.at(kind) * heads * d * (backward ? 5 : 2)) << p.name;
    EXPECT_EQ(size.seq, 2 * pairs.at(kind) / 64) << p.name;
    EXPECT_GT(time_alone(*bench, p, {.seconds = 0.001, .repeats = 1}).seconds.front(), 0) << p.name;
  }
  EXPECT_EQ(seen, (std::map<std::string, int>{{"full_attention", 2}, {"chunk_attention", 2}}));
}

// MLA's, whose keys have two parts, on the reference kernels: queries and keys of as many rows as
// the work says.
TEST(Points, MlaOfAllKeysAndOfAChunk) {
  const auto bench = cpu_bench();
  std::map<std::string, double> products;  // pairs of a row and a key
  for (const KernelPoint& p : mla_piece_points(64)) {
    const auto& size = std::get<AttentionSize>(p.shape);
    EXPECT_TRUE(size.all_keys && !size.pieces && size.layout == AttentionLayout::mla) << p.name;
    EXPECT_EQ(p.share, kJudgedShare);
    const bool backward = p.kernel == KernelClass::attention_bwd;
    products[p.name.substr(0, p.name.find(", "))] =
        p.flops / (2 * 16 * (backward ? 3 * 192 + 2 * 128 : 192 + 128));
    EXPECT_EQ(p.flops / (2 * 16 * (backward ? 3 * 192 + 2 * 128 : 192 + 128)),
              size.rows * size.seq / 2)
        << p.name;
    EXPECT_GT(time_alone(*bench, p, {.seconds = 0.001, .repeats = 1}).seconds.front(), 0) << p.name;
  }
  EXPECT_EQ(products,
            (std::map<std::string, double>{{"full_mla_attention 1x64 of 64", 64.0 * 64},
                                           {"full_mla_attention 1x128 of 128", 128.0 * 128},
                                           {"chunk_mla_attention 1x64 of 64", 64.0 * 64},
                                           {"chunk_mla_attention 1x64 of 128", 64.0 * 128},
                                           {"full_mla_attention.bwd 1x64 of 64", 64.0 * 64},
                                           {"full_mla_attention.bwd 1x128 of 128", 128.0 * 128},
                                           {"chunk_mla_attention.bwd 1x64 of 64", 64.0 * 64},
                                           {"chunk_mla_attention.bwd 1x64 of 128", 64.0 * 128}}));
}

// Of 64 rows on the reference kernels: what each moves, and that it can be called.
TEST(Points, KernelsThatAreJudged) {
  const auto bench = cpu_bench();
  constexpr double n = 64 * 4096, sums = 4 * 64, weights = 2 * 4096;
  const std::map<std::string, std::pair<double, double>> bytes{  // and those of the norm
      {"quantize columns of 128 64x4096", {3 * n, 0}},
      {"quantize columns of 32 64x4096", {3 * n, 0}},
      {"rms_norm_quantize copies of 128 64x4096", {4 * n + sums + weights, 2 * n + sums}},
      {"add_rms_norm_quantize copies of 32 64x4096", {4 * n + sums + weights, 6 * n + sums}},
      {"router_stats 4096 tokens, 8 of 128", {4 * (4096.0 * 136 + 257), 0}},
      {"router_losses 4096 tokens, 8 of 128", {4 * 260, 0}},
      {"router_losses_bwd 4096 tokens, 8 of 128", {4 * (2 * 4096.0 * 128 + 257), 0}}};
  std::size_t seen = 0;
  std::set<std::string> names;
  for (const KernelPoint& p : judged_kernel_points()) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    EXPECT_FALSE(p.judged.empty()) << p.name;
    EXPECT_EQ(p.share, kJudgedShare) << p.name;
    if (p.name == "gemm.dgrad fp8 tensor 512x4096x4096") {
      EXPECT_EQ(p.flops, 2.0 * 512 * 4096 * 4096);
      EXPECT_EQ(p.bytes, 2.0 * 512 * 4096 + (512 + 4096) * 4096.0);
    }
    const auto want = bytes.find(p.name);
    if (want == bytes.end()) continue;
    ++seen;
    EXPECT_EQ(std::pair(p.bytes, p.norm_bytes), want->second) << p.name;
    EXPECT_GT(time_alone(*bench, p, {.seconds = 0.001, .repeats = 1}).seconds.front(), 0) << p.name;
  }
  EXPECT_EQ(seen, bytes.size());
  EXPECT_EQ(names.size(), 32U);
}

TEST(Points, NamesAreUniqueAndWorkIsPositive) {
  std::set<std::string> names;
  for (const auto& points :
       {gemm_points(), grouped_gemm_points(), attention_points(), memory_bound_points(),
        routing_points(), state_points(), narrow_points()}) {
    for (const KernelPoint& p : points) {
      EXPECT_TRUE(names.insert(p.name).second) << p.name;
      EXPECT_GT(p.bytes, 0) << p.name;
      EXPECT_EQ(p.flops > 0, counts_flops(p.kernel)) << p.name;
    }
  }
  EXPECT_GT(names.size(), 80u);
}

TEST(Collectives, EveryKindAndSize) {
  const auto ranks = thread_ranks(2);
  std::vector<Sample> samples;
  for (const CollectivePoint& p : collective_points(2)) {
    samples.push_back(sample_of(p, time_collective(*ranks, p, {.seconds = 0.001, .repeats = 2})));
  }
  EXPECT_EQ(samples.size(), kCollectives * 7);
  for (const Sample& s : samples) {
    EXPECT_GT(s.time.base(), 0) << s.name;
    EXPECT_GT(std::get<CollectiveSample>(s.point).wire.base(), 0) << s.name;
  }
  // Half of 1024 bytes leaves each of two ranks in an all-gather, all of them twice in an
  // all-reduce.
  EXPECT_EQ(std::get<CollectiveSample>(samples[0].point).wire, Bytes(512));
  EXPECT_EQ(std::get<CollectiveSample>(samples[14].point).wire, Bytes(1024));
}

TEST(Calibrate, ShortRunGivesAProfileWithEveryCurve) {
  ClusterSpec c;
  c.name = "localhost";
  c.gpu.peak_fp32 = FlopsPerSecond(2e11);
  c.gpu.memory_bandwidth = BytesPerSecond(5e10);
  c.shared_cores = 2;
  c.tiers.push_back({"memory", 0, BytesPerSecond(5e10), Seconds(1e-6)});
  CalibrateConfig config;
  config.point_seconds = 0.002;
  config.sets = 1;
  config.created = "2026-01-02";
  const CalibrationResult r = calibrate(c, config);
  EXPECT_EQ(r.profile.cluster, "localhost");
  EXPECT_EQ(r.profile.runtime, Runtime::pleat);
  for (const EfficiencyCurve& k : r.profile.kernels) {
    EXPECT_EQ(k.source, SourceClass::fitted);
    EXPECT_GT(k.max_efficiency, 0);
    EXPECT_LE(k.max_efficiency, 1);
    EXPECT_LE(k.memory_efficiency, 1);
  }
  ASSERT_EQ(r.profile.collectives.size(), 1u);
  for (const CollectiveCurve& k : r.profile.collectives[0]) {
    EXPECT_EQ(k.source, SourceClass::fitted);
    EXPECT_LE(k.efficiency, 1);
  }
  EXPECT_GT(r.profile.host_per_op.base(), 0);
  EXPECT_LT(r.profile.host_per_op.base(), 1e-4);
  EXPECT_GT(r.profile.sharing_penalty, 0.2);
  const auto families = std::count_if(r.residuals.begin(), r.residuals.end(),
                                      [](const Residual& x) { return x.kind.empty(); });
  EXPECT_EQ(families, static_cast<std::ptrdiff_t>(kKernelClasses + 1 + kCollectives));
  for (const Residual& x : r.residuals) EXPECT_TRUE(x.held_out_median) << x.family << x.kind;
  for (const EfficiencyCurve& k : r.profile.kernels) EXPECT_GE(k.contention, 1);
  // What is written is read back as the same profile.
  EXPECT_EQ(read_profile(write_profile(r.profile), "profile"), r.profile);
  EXPECT_NE(print_residuals(r).find("sharing penalty"), std::string::npos);
  EXPECT_NE(samples_json(r).find("\"all_to_all\""), std::string::npos);
}

}  // namespace
}  // namespace pleat
