// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows of published runs: what is read of them, and every problem of a file at once.
#include "validation/measured_run.hpp"

#include <gtest/gtest.h>

#include "validation/run_request.hpp"
#include "validation/run_words.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

const char* const kRow =
    R"({"id": "a", "tier": "B", "model": "llama3-8b", "overrides": {"num_layers": 4}, )"
    R"("cluster": "h100-sxm", "gpus": 8, "workload": {"seq_len": 4096, "global_batch": 16}, )"
    R"("plan": {"tp": 2, "vpp": null, "offload": "none", "etp": null, )"
    R"("recompute": {"granularity": "selective", "modules": ["core_attn"], "num_layers": null}}, )"
    R"("measured": {"step_time_s": 1.5, "peak_allocated_gib": 2}, )"
    R"("peers_predicted_s": {"x": 2}, "paper": true})";

std::vector<std::string> problems_of(const std::string& text) {
  std::vector<std::string> lines;
  try {
    static_cast<void>(read_runs(text, "rows.jsonl"));
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
    for (const Diagnostic& d : e.diagnostics()) {
      lines.push_back(d.where + ": " + d.path + ": " + d.message);
    }
  }
  return lines;
}

TEST(ReadRuns, OneRow) {
  const auto runs = read_runs(std::string("\n") + kRow + "\n\n", "rows.jsonl");
  ASSERT_EQ(runs.size(), 1u);
  const MeasuredRun& run = runs[0];
  EXPECT_EQ(run.where, "rows.jsonl:2");
  EXPECT_EQ(run.model_name, "llama3-8b");
  EXPECT_EQ(run.num_layers, 4);
  EXPECT_EQ(run.runtime, "megatron");
  EXPECT_EQ(run.plan.tp, 2);
  EXPECT_FALSE(run.plan.vpp || run.plan.pp || run.plan.etp);
  EXPECT_EQ(run.plan.offload, std::vector<std::string>{"none"});
  ASSERT_TRUE(run.plan.recompute);
  EXPECT_EQ(run.plan.recompute->modules, std::vector<std::string>{"core_attn"});
  EXPECT_EQ(run.measured.step_time_s, 1.5);
  EXPECT_EQ(run.measured.peak_bytes, 2147483648.0);
  ASSERT_EQ(run.peers_s.size(), 1u);
  EXPECT_EQ(run.peers_s[0].second, 2.0);
}

TEST(ReadRuns, EveryProblemOfAFileWithItsLine) {
  const std::string text = std::string(kRow) + "\n{\"id\": \"b\", \n" + kRow + "\n" +
                           R"({"id": "c", "model": 3, "cluster": "x", "gpus": 0, )"
                           R"("workload": {"seq_len": 1, "global_batch": 1}})";
  const std::vector<std::string> lines = problems_of(text);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].substr(0, 13), "rows.jsonl:2:");
  EXPECT_EQ(lines[1].substr(0, 13), "rows.jsonl:4:");
  EXPECT_NE(lines[1].find("model: must be the name of a shipped model"), std::string::npos);
  EXPECT_EQ(lines[2].substr(0, 13), "rows.jsonl:4:");
  EXPECT_NE(lines[2].find("gpus: 0 is out of range"), std::string::npos);
  EXPECT_EQ(lines[3], "rows.jsonl:3: id: a is the id of an earlier row");
}

TEST(ReadRuns, WhatAPeakCounts) {
  const auto read = [](const std::string& measured) {
    return read_runs(R"({"id": "a", "model": "llama3-8b", "cluster": "b200", "gpus": 8, )"
                     R"("workload": {"seq_len": 8192, "global_batch": 8}, "measured": {)" +
                         measured + "}}",
                     "runs.jsonl")[0]
        .measured;
  };
  const Measurement both = read(R"("peak_allocated_gb": 3, "peak_reserved_gb": 4)");
  EXPECT_EQ(both.peak_bytes, 3e9);
  EXPECT_EQ(both.peak_kind, PeakKind::allocated);
  EXPECT_EQ(read(R"("peak_reserved_gb": 4)").peak_kind, PeakKind::reserved);
  const Measurement device = read(R"("peak_device_gb": 5)");
  EXPECT_EQ(device.peak_bytes, 5e9);
  EXPECT_EQ(device.peak_kind, PeakKind::device);
}

TEST(ReadRuns, AnEmptyFileIsAMistake) {
  EXPECT_EQ(problems_of("\n \n"), std::vector<std::string>{"rows.jsonl: : has no rows"});
}

TEST(ReadRuns, EveryShippedFileReads) {
  std::size_t rows = 0;
  for (const std::string& file : shipped_run_files()) {
    rows += read_runs(read_text_file(file), file).size();
  }
  EXPECT_GE(rows, 1500u);
}

TEST(RunEra, MonthsOfReleasesAndCommits) {
  EXPECT_EQ(month_of_era("nemo-25.11"), 25 * 12 + 10);
  EXPECT_EQ(month_of_era("nemo-26.02.01"), 26 * 12 + 1);
  EXPECT_EQ(month_of_era("main-2026-07"), 26 * 12 + 6);
  EXPECT_EQ(month_of_era("nemo-25.13"), std::nullopt);
  EXPECT_EQ(month_of_era("Parallel Folding (2504.14960)"), 25 * 12 + 3);
  EXPECT_EQ(month_of_era("a paper (1234)"), std::nullopt);
  EXPECT_EQ(month_of_era("vtrain"), std::nullopt);
}

TEST(RunEra, TheLastEraNotAfterTheRun) {
  Profile profile;
  profile.step_overhead = Seconds(1);
  for (const auto& [name, overhead] :
       {std::pair("nemo-26.02", 3.0), std::pair("nemo-25.04", 2.0),
        std::pair("mlperf-v3.1", 4.0)}) {
    Era era;
    era.name = name;
    era.run.step_overhead = Seconds(overhead);
    profile.eras.push_back(era);
  }
  const auto overhead = [&](const char* era) {
    return profile_of_era(profile, era).step_overhead.base();
  };
  EXPECT_EQ(overhead("nemo-25.04"), 2);
  EXPECT_EQ(overhead("nemo-25.11"), 2);
  EXPECT_EQ(overhead("main-2026-07"), 3);
  EXPECT_EQ(overhead("nemo-24.09"), 1);  // before all of them
  EXPECT_EQ(overhead("MegaScale"), 1);
  // The software of a round of MLPerf; another submitter ran a release.
  EXPECT_EQ(overhead("nemo-24.05 (MLPerf v3.1, 23.09)"), 4);
  EXPECT_EQ(overhead("nemo-25.04 (MLPerf v3.1)"), 4);
  EXPECT_EQ(overhead("nemo-25.04 (MLPerf v3.1, Oracle)"), 2);
  EXPECT_EQ(overhead("nemo-25.04 (MLPerf v5.1)"), 2);
}

TEST(RunModel, CutKeepsTheFirstLayers) {
  ModelSpec m;
  m.layers = 4;
  m.moe_layer = {false, true, true, true};
  cut_depth(m, 2);
  EXPECT_EQ(m.layers, 2);
  EXPECT_EQ(m.moe_layer, (std::vector<bool>{false, true}));
  cut_depth(m, 3);  // deeper repeats the last
  EXPECT_EQ(m.moe_layer, (std::vector<bool>{false, true, true}));
}

}  // namespace
}  // namespace pleat
