// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/manifest.hpp"

#include <gmock/gmock.h>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RunPatterns, JoinWhatGoesOn) {
  std::vector<RunPattern> runs;
  add_run(runs, 10, 5);
  add_run(runs, 15, 5);  // next to it
  EXPECT_THAT(runs, ElementsAre(RunPattern{10, 10, 1, 0}));
  for (int row = 0; row < 4; ++row) add_run(runs, 100 + 8 * row, 4);
  add_run(runs, 200, 4);
  add_run(runs, 300, 2);
  EXPECT_THAT(runs, ElementsAre(RunPattern{10, 10, 1, 0}, RunPattern{100, 4, 4, 8},
                                RunPattern{200, 4, 1, 0}, RunPattern{300, 2, 1, 0}));
}

Manifest sample() {
  Manifest m;
  m.state = {7, 6, 56, 16, 8, 18446744073709551615U, "abc"};
  m.world = 2;
  m.plan = "dp 2";
  m.files = {{"plan.json", 3, "00"}, {"shard_00000.safetensors", 99, "ff"}};
  m.tensors["weight/a"] = {ElementType::bf16, 64, {{0, {{0, 4, 8, 8}}}, {1, {{4, 4, 8, 8}}}}};
  return m;
}

TEST(Manifest, ReadsBack) { EXPECT_EQ(read_manifest(write_manifest(sample()), "m"), sample()); }

TEST(Manifest, RecordsOfRanksAddUp) {
  Manifest m;
  for (int rank = 0; rank < 2; ++rank) {
    ShardRecord record{{shard_name(rank), 10, "d"}, {}};
    record.tensors["weight/a"] = {ElementType::f32, 8, {{rank, {{4 * rank, 4, 1, 0}}}}};
    add_record(m, write_record(record));
  }
  EXPECT_EQ(m.files.size(), 2U);
  EXPECT_EQ(m.files[1].name, "shard_00001.safetensors");
  EXPECT_EQ(m.tensors.at("weight/a").parts.size(), 2U);
  EXPECT_EQ(m.tensors.at("weight/a").parts[1].runs[0].whole, 4);
}

TEST(Manifest, RunsOutsideOfTheTensorAreRefused) {
  for (const RunPattern& bad :
       {RunPattern{61, 4, 1, 0}, RunPattern{0, 4, 9, 8}, RunPattern{0, 0, 1, 0},
        RunPattern{0, 4, 2, std::int64_t{1} << 62}, RunPattern{0, 8, std::int64_t{1} << 61, 0},
        RunPattern{-4, 4, 1, 0}}) {
    Manifest m = sample();
    m.tensors["weight/a"].parts[0].runs[0] = bad;
    try {
      (void)read_manifest(write_manifest(m), "m");
      ADD_FAILURE() << bad.whole << " " << bad.elements << " " << bad.count;
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
      EXPECT_THAT(e.what(), HasSubstr("inside the tensor"));
    }
  }
}

// Characters changed and cut at random: refused, or a manifest whose runs are inside their tensors.
TEST(Manifest, DamagedTextIsRefusedOrRead) {
  const std::string good = write_manifest(sample());
  std::uint64_t state = 11;
  const auto random = [&state](std::size_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((state >> 33) % below);
  };
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (std::size_t n = 1 + random(3); n > 0; --n) {
      const std::size_t at = random(text.size() - 4);
      if (random(2) == 0) {
        text[at] = "0123456789-[]{},:\"e."[random(20)];
      } else {
        text.erase(at, 1 + random(3));
      }
    }
    try {
      for (const auto& [name, tensor] : read_manifest(text, "m").tensors) {
        for (const TensorPart& part : tensor.parts) {
          for (const RunPattern& r : part.runs) {
            EXPECT_LE(r.whole + (r.count - 1) * r.step + r.elements, tensor.elements);
          }
        }
      }
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace pleat
