// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memory over time agrees with the peak, and everything kept is given back.
#include "simulator/memory_timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

Program deepseek(bool paired) {
  Plan plan;
  plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 4};
  plan.expert = {.etp = 1, .ep = 64, .edp = 1};
  plan.vpp = 4;
  plan.layout = "Et*4|(tttt|)*14tmL";
  plan.overlap.expert_parallel = paired;
  return compile(load_model("deepseek-v3").model, {.seq_len = 4096, .global_batch = 64 * 16}, plan,
                 Runtime::megatron);
}

TEST(MemoryTimeline, ItsHighestPointIsThePeak) {
  const ClusterSpec cluster = load_cluster("gb200-nvl72");
  const Profile profile = datasheet_profile("gb200-nvl72", 2, Runtime::megatron);
  for (bool paired : {false, true}) {
    const Program program = deepseek(paired);
    const StepEstimate e = estimate(program, cluster, profile);
    const auto stages = memory_timeline(program, cluster, profile);
    ASSERT_EQ(stages.size(), 4u);
    for (std::size_t s = 0; s < 4; ++s) {
      const StageMemoryTimeline& line = stages[s];
      std::int64_t peak = line.step_peak;
      Seconds now;
      for (const MemoryMoment& m : line.moments) {
        peak = std::max(peak, m.peak);
        EXPECT_GE(m.start, now);
        EXPECT_GT(m.end, m.start);
        EXPECT_EQ(m.live, m.kept_bytes());
        EXPECT_GE(m.peak, m.live);
        for (std::int64_t bytes : m.kept) EXPECT_GE(bytes, 0);
        now = m.end;
      }
      EXPECT_EQ(line.moments.back().kept_bytes(), 0);
      EXPECT_EQ(line.state.other + peak, e.memory[s].activations) << "stage " << s;
      EXPECT_EQ(line.state.total() + peak + line.runtime.allocated, e.memory[s].allocated());
    }
  }
}

// The third stage holds 15 chunks of four MoE layers: 60 times what one layer keeps.
TEST(MemoryTimeline, SaysWhichModuleKeepsWhat) {
  const Program program = deepseek(false);
  const auto stages = memory_timeline(program, load_cluster("gb200-nvl72"),
                                      datasheet_profile("gb200-nvl72", 2, Runtime::megatron));
  std::int64_t attention = 0;
  for (const MemoryMoment& m : stages[2].moments) {
    attention = std::max(attention, m.kept[static_cast<std::size_t>(Module::core_attn)]);
  }
  // Output and log-sum-exp of 128 heads of 128.
  EXPECT_EQ(attention, 60LL * 4096 * 128 * (2 * 128 + 4));
  const auto json = nlohmann::json::parse(memory_timeline_json(stages, program));
  EXPECT_EQ(json["stages"].size(), 4u);
  EXPECT_EQ(json["stages"][2]["moments"].size(), 2u * 16 * 4);
  EXPECT_EQ(json["stages"][2]["moments"][0]["pass"], "fwd");
}

}  // namespace
}  // namespace pleat
