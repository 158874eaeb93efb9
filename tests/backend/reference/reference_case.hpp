// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The cases of tests/reference: a small model with the formula's weights, trained for one step of
// four samples of 24 tokens.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "backend/trainer.hpp"
#include "core/json/parse.hpp"
#include "tests/backend/reference/formula.hpp"
#include "tests/support/small_models.hpp"

namespace pleat::test {

inline const std::filesystem::path kReferenceFolder =
    std::filesystem::path(PLEAT_SOURCE_DIR) / "tests/reference";

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// 0 where there is no such number.
inline double number_in(const JsonValue* object, const std::string& key) {
  const JsonValue* value = object == nullptr ? nullptr : object->find(key);
  if (value == nullptr) return 0;
  if (const std::int64_t* whole = value->as_integer()) return static_cast<double>(*whole);
  return *value->as_double();
}

inline Signature signature_in(const JsonValue& list) {
  Signature s{};
  for (std::size_t i = 0; i < s.size(); ++i) {
    const JsonValue& v = list.items().at(i);
    s[i] = v.as_double() != nullptr ? *v.as_double() : static_cast<double>(*v.as_integer());
  }
  return s;
}

struct ReferenceCase {
  std::string name, config;  // the config's text
  ModelSpec model;
  int micro_batch = 1;
  // What the reference computed.
  std::map<std::string, std::vector<std::int64_t>> shapes;  // of every weight by its global name
  std::map<std::string, Signature> gradients;
  std::map<std::string, double> losses;
  Signature logits;

  explicit ReferenceCase(const std::string& n)
      : name(n), config(text_of(kReferenceFolder / "models" / (n + ".json"))) {
    model = read_hf_config(config, n + ".json", n).model;
    const JsonValue document = parse_json(config, n + ".json");
    const JsonValue* extra = document.find("pleat");
    micro_batch = std::max(1, static_cast<int>(number_in(extra, "micro_batch")));
    model.mtp_loss = number_in(extra, "mtp_loss");
    model.mtp_layers = model.mtp_loss > 0 ? 1 : 0;
    if (model.moe) {
      model.moe->aux_loss = number_in(extra, "aux_loss");
      model.moe->seq_aux_loss = number_in(extra, "seq_aux_loss");
      model.moe->z_loss = number_in(extra, "z_loss");
    }
    const JsonValue golden = parse_json(text_of(kReferenceFolder / "golden" / (n + ".json")), n);
    for (const JsonMember& m : golden.find("shapes")->members()) {
      for (const JsonValue& dim : m.value.items()) shapes[m.key].push_back(*dim.as_integer());
    }
    for (const JsonMember& m : golden.find("gradients")->members()) {
      gradients[m.key] = signature_in(m.value);
    }
    for (const JsonMember& m : golden.find("losses")->members()) {
      losses[m.key] = number_in(golden.find("losses"), m.key);
    }
    logits = signature_in(*golden.find("logits"));
  }

  // A weight by its global name.
  void fill(const std::string& weight, std::span<float> values) const {
    formula_weight(weight, shapes.at(weight), values);
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
    if (c.shapes.contains(name)) c.fill(name, values);
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
