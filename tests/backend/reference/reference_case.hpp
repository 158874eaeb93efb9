// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The cases of tests/reference: a small model with the formula's weights, trained for one step of four
// samples of 24 tokens.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backend/trainer.hpp"
#include "tests/backend/reference/formula.hpp"
#include "tests/support/small_models.hpp"

namespace pleat::test {

using Json = nlohmann::json;

inline const std::filesystem::path kReferenceFolder =
    std::filesystem::path(PLEAT_SOURCE_DIR) / "tests/reference";

inline Json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

struct ReferenceCase {
  std::string name;
  Json config, golden;
  ModelSpec model;
  int micro_batch = 1;
  explicit ReferenceCase(const std::string& n)
      : name(n),
        config(read_json(kReferenceFolder / "models" / (n + ".json"))),
        golden(read_json(kReferenceFolder / "golden" / (n + ".json"))) {
    model = read_hf_config(config.dump(), n + ".json", n).model;
    const Json extra = config.value("pleat", Json::object());
    micro_batch = extra.value("micro_batch", 1);
    model.mtp_layers = extra.contains("mtp_loss") ? 1 : 0;
    model.mtp_loss = extra.value("mtp_loss", 0.0);
    if (!model.moe) return;
    model.moe->aux_loss = extra.value("aux_loss", 0.0);
    model.moe->seq_aux_loss = extra.value("seq_aux_loss", 0.0);
    model.moe->z_loss = extra.value("z_loss", 0.0);
  }

  // A weight by its global name.
  void fill(const std::string& weight, std::span<float> values) const {
    const auto shape = golden.at("shapes").at(weight).get<std::vector<std::int64_t>>();
    formula_weight(weight, shape, values);
  }
};

struct ReferenceOutcome {
  TrainResult result;
  std::vector<float> logits;  // of all samples, in order
};

inline ReferenceOutcome run_case(const ReferenceCase& c, Plan plan) {
  const WorkloadSpec workload{.seq_len = 24, .global_batch = 4};
  plan.micro_batch = c.micro_batch;
  TrainConfig config;
  config.text = formula_tokens(4 * 24 + 2);
  config.keep_gradients = true;
  config.poison = true;
  config.clip_norm = 0;
  config.adjust_weight = [&c](const std::string& name, std::span<float> values) {
    if (c.golden.at("shapes").contains(name)) c.fill(name, values);
  };
  ReferenceOutcome out;
  config.after_op = [&](Rank, const Op& op, std::span<const View> results) {
    if (op.name != "head" || op.phase != Phase::forward || plan.world() > 1) return;
    const View v = results[0];
    // With a prediction depth the second half of the rows is its.
    const std::int64_t rows = c.model.mtp_layers > 0 ? v.rows / 2 : v.rows;
    out.logits.insert(out.logits.end(), v.f32(), v.f32() + rows * v.cols);
  };
  out.result = train(compile(c.model, workload, plan, Runtime::pleat), config);
  return out;
}

}  // namespace pleat::test
