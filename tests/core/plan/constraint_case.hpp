// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One valid folded plan and the check that an edit of it breaks exactly one rule, with its exact
// message.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/plan/constraints.hpp"

namespace pleat::test {

// DeepSeek-V3-like, 64 heads of GQA instead of MLA.
struct Case {
  ModelSpec model;
  WorkloadSpec workload;
  Plan plan;
  int gpus = 256;

  Case() {
    model.name = "test-moe";
    model.layers = 64;
    model.hidden = 7168;
    model.ffn = 18432;
    model.attention.heads = 64;
    model.attention.kv_groups = 8;
    model.attention.head_dim = 128;
    model.moe = MoeSpec{.experts = 256, .top_k = 8, .ffn = 2048, .shared_ffn = 2048};
    model.moe_layer.assign(64, true);
    model.moe_layer[0] = false;
    workload = {.seq_len = 4096, .global_batch = 4096};
    plan.attention = {.tp = 2, .cp = 2, .dp = 16, .pp = 4};
    plan.expert = {.etp = 2, .ep = 16, .edp = 2};
    plan.vpp = 4;
  }
  [[nodiscard]] PlanContext context() const { return {model, workload, plan, gpus}; }
  void make_dense() {
    model.moe.reset();
    model.moe_layer.assign(static_cast<std::size_t>(model.layers), false);
    plan.expert = {};
  }
};

using Edit = std::function<void(Case&)>;

// The edit breaks exactly this rule, with exactly this message and hint.
inline void expect_violation(const Edit& edit, const std::string& rule, const std::string& path,
                      const std::string& message, const std::string& hint,
                      ExitCode code = ExitCode::bad_request) {
  Case c;
  edit(c);
  const std::vector<Violation> found = violations(c.context());
  ASSERT_EQ(found.size(), 1u) << rule << (found.empty() ? "" : ": " + found.back().message);
  EXPECT_EQ(found[0].rule, rule);
  EXPECT_EQ(found[0].path, path);
  EXPECT_EQ(found[0].message, message);
  EXPECT_EQ(found[0].hint, hint);
  EXPECT_EQ(found[0].code, code);
  try {
    require_valid(c.context(), "plan.json");
    FAIL() << rule;
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), code);
    EXPECT_EQ(std::string(e.what()), "error: plan.json: " + path + ": " + message +
                                         (hint.empty() ? "" : "\n  hint: " + hint));
  }
}

}  // namespace pleat::test
