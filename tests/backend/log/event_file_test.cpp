// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/log/event_file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/log/expert_load.hpp"
#include "core/diagnostics.hpp"
#include "tests/backend/checkpoint/temporary_folder.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

// RFC 3720, B.4, and the check value of the polynomial.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
}

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

// The bytes that tensorboard 2.21.0 writes for this event (compat.proto, summary.writer).
TEST(EventFile, RecordsAreThoseOfTensorBoard) {
  EXPECT_EQ(hex(event_record(scalar_event(1.5, 300, {{"loss", 2.0F}}))),
            "1b000000000000001a0d9e13"
            "09000000000000f83f10ac022a0d0a0b0a046c6f73731500000040"
            "5f3c800b");
}

TEST(EventFile, IsNewAndNamed) {
  const test::TemporaryFolder folder;
  EventFile file(folder / "runs/a");
  file.add(1, {{"a", 1.0F}, {"b", 2.0F}});
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "runs/a")) {
    ++files;
    EXPECT_TRUE(entry.path().filename().string().starts_with("events.out.tfevents."));
    const std::string bytes = test::read_bytes(entry.path());
    EXPECT_NE(bytes.find("brain.Event:2"), std::string::npos);
  }
  EXPECT_EQ(files, 1);
  EXPECT_THROW(EventFile("/dev/null/x"), ConfigError);
}

// --- what goes into it

TEST(ExpertLoad, OfForcedRoutingIsEven) {
  TrainConfig config = test::small_config(2);
  config.measure_load = true;
  config.forced_routing = true;
  const TrainResult even = test::run(test::small_moe(), test::fp32_plan(2, 2, 2), config);
  EXPECT_EQ(even.steps[1].expert_load, 1);
  ASSERT_FALSE(even.steps[1].expert_loads.empty());
  for (const ExpertLoads& layer : even.steps[1].expert_loads) {
    EXPECT_TRUE(test::small_moe().is_moe(layer.layer));
    EXPECT_EQ(layer.of, std::vector<double>(layer.of.size(), layer.of.front()));
  }
  config.forced_routing = false;
  test::skew(config);
  const TrainResult skewed =
      test::run(test::biased(test::small_moe()), test::fp32_plan(2, 2, 2), config);
  // The same tokens on one rank.
  const TrainResult one = test::run(test::biased(test::small_moe()), test::fp32_plan(), config);
  EXPECT_GT(one.steps[0].expert_load, 1.5);
  EXPECT_EQ(skewed.steps[0].expert_load, one.steps[0].expert_load);
  EXPECT_EQ(max_over_mean(one.steps[0].expert_loads), one.steps[0].expert_load);
}

}  // namespace
}  // namespace pleat
