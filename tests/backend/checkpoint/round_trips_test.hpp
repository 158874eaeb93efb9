// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a run saves is what comes back, for random models, layouts, optimizers and precisions: into
// the same run, into another layout, into a Hugging Face folder and out of it again.
#pragma once

#include <random>
#include <vector>

#include "backend/checkpoint/hf_weights.hpp"
#include "core/diagnostics.hpp"
#include "tests/backend/checkpoint/saved_runs.hpp"
#include "tests/backend/random_layouts.hpp"

namespace pleat::test {

// A family whose names an export takes, another one for another seed; empty: none has such models.
inline std::string family_of(ModelSpec m, unsigned seed) {
  if (m.norm != NormKind::rms_norm) return "";
  const std::vector<std::string> families =
      m.attention.kind == AttentionKind::mla
          ? std::vector<std::string>{"deepseek_v3", "deepseek_v2", "kimi_k2"}
      : m.moe ? std::vector<std::string>{"qwen2_moe", "glm4_moe", "qwen3_moe",
                                         "dots1",     "mixtral",  "ernie4_5_moe"}
              : std::vector<std::string>{"llama", "mistral", "qwen2", "qwen3"};
  for (std::size_t i = 0; i < families.size(); ++i) {
    m.model_type = families[(seed + i) % families.size()];
    if (m.model_type == "mixtral" && m.moe->shared_ffn > 0) continue;
    try {
      static_cast<void>(hf_weight_map(m));
      return m.model_type;
    } catch (const ConfigError&) {  // another one may have such models
    }
  }
  return "";
}

// Biases, norms of heads and a gate of the shared expert, on some models.
inline void vary(ModelSpec& m, std::mt19937& random) {
  const auto chance = [&] { return random() % 3 == 0; };
  if (m.attention.kind != AttentionKind::mla && m.norm == NormKind::rms_norm) {
    m.attention.qkv_bias = chance();
    m.attention.out_bias = m.attention.qkv_bias && chance();
    m.attention.qk_norm = chance();
  }
  if (m.moe && m.moe->shared_ffn > 0) m.moe->shared_gate = chance();
}

struct RoundTrip {
  RandomLayout first, second;  // one model, two layouts
  std::string family;
};

inline RoundTrip round_trip_of(unsigned seed) {
  LayoutMaker maker(seed);
  RoundTrip t{maker.make(), {}, ""};
  t.first.packing = {};
  RandomLayout varied = t.first;
  std::mt19937 random(seed);
  vary(varied.model, random);
  if (LayoutMaker::is_legal(varied)) t.first = varied;
  RandomLayout narrow = t.first;
  narrow.plan.precision = Precision::bf16;
  if (seed % 3 == 0 && LayoutMaker::is_legal(narrow)) t.first = narrow;
  narrow.plan.optimizer.main_params = DType::remainder16;
  if (seed % 6 == 0 && LayoutMaker::is_legal(narrow)) t.first = narrow;
  RandomLayout other = t.first;
  constexpr OptimizerKind kKinds[] = {OptimizerKind::adamw, OptimizerKind::lamb, OptimizerKind::sgd,
                                      OptimizerKind::muon};
  other.plan.optimizer.kind = kKinds[seed / 2 % 4];
  if (LayoutMaker::is_legal(other)) t.first = other;
  t.second = maker.another(t.first);
  t.family = family_of(t.first.model, seed);
  return t;
}

inline SavedRun saved_run(const RandomLayout& c, int steps) {
  SavedRun run{.model = c.model, .plan = c.plan, .steps = steps};
  run.workload = c.workload;
  skew(run.config);
  run.config.adamw.lr = 0.01;
  return run;
}

// Of a step at a rate of zero: all but the bias that routers are balanced by.
inline void expect_kept(Tensors actual, Tensors expected) {
  for (Tensors* t : {&actual, &expected}) {
    std::erase_if(*t, [](const auto& named) { return named.first.ends_with("expert_bias"); });
  }
  expect_same_bits(actual, expected);
}

// Weights as the program has them: of a name in the checkpoint, "weight/" and the name.
inline void expect_weights_in(const Tensors& saved, const Tensors& weights) {
  for (const auto& [name, values] : weights) {
    const auto found = saved.find("weight/" + name);
    ASSERT_NE(found, saved.end()) << name;
    EXPECT_EQ(found->second, values) << name;
  }
}

// Saved, gone on with: the bits of a run that never stopped.
inline void expect_resumes(const RandomLayout& c, const std::string& from) {
  SavedRun straight = saved_run(c, 3), resumed = saved_run(c, 3);
  resumed.load = from;
  const TrainResult expected = straight.run(), actual = resumed.run();
  ASSERT_EQ(actual.steps.size(), 1U);
  EXPECT_EQ(actual.steps[0].loss, expected.steps[2].loss);
  EXPECT_EQ(actual.steps[0].grad_norm, expected.steps[2].grad_norm);
  expect_same_bits(actual.weights, expected.weights);
}

// In another layout every bit of the weights stays where nothing is learnt, and the averages
// move as in the first.
inline void expect_resumes_elsewhere(const RoundTrip& t, const std::string& from,
                                     const Tensors& weights) {
  const TemporaryFolder kept, moved;
  Tensors averages[2];
  for (const RandomLayout* c : {&t.first, &t.second}) {
    const TemporaryFolder& folder = c == &t.first ? kept : moved;
    SavedRun run = saved_run(*c, 3);
    run.load = from;
    run.save = folder.path();
    run.config.adamw.lr = 0;
    expect_kept(run.run().weights, weights);
    for (auto& [name, values] : tensors_in(folder / "step_00000003")) {
      if (name.starts_with("exp_avg")) averages[c == &t.second][name] = std::move(values);
    }
  }
  // Rounded activations differ between layouts.
  const bool exact = t.first.plan.precision == Precision::fp32;
  if (exact) expect_close(averages[1], averages[0], 1e-4);
  EXPECT_EQ(averages[0].empty(), averages[1].empty());
}

// Out to a folder of the family and in again, by the second layout.
inline void expect_exports(const RoundTrip& t, const std::string& checkpoint) {
  ModelSpec model = t.first.model;
  model.model_type = t.family;
  const TemporaryFolder folder;
  const SavedWeights saved(checkpoint);
  export_hf_weights(folder.path(), model, {.shard_bytes = 50'000},
                    [&](const std::string& name, std::span<float> out) { saved.read(name, out); });
  const HfWeights exported(folder.path(), model);
  for (const HfWeight& w : hf_weight_map(model)) {
    std::vector<float> actual(static_cast<std::size_t>(w.elements())), expected = actual;
    exported.read(w.name, actual);
    saved.read(w.name, expected);
    EXPECT_EQ(actual, expected) << w.name;
  }
  // Training starts from it: a step in which nothing is learnt gives the weights back.
  SavedRun from_export = saved_run(t.second, 1), from_checkpoint = saved_run(t.second, 1);
  for (SavedRun* run : {&from_export, &from_checkpoint}) {
    run->config.adjust_weight = nullptr;
    run->config.adamw.lr = 0;
    run->config.read_weight = [&, hf = run == &from_export](const std::string& name,
                                                            std::span<float> out) {
      if (hf)
        exported.read(name, out);
      else
        saved.read(name, out);
    };
  }
  const TrainResult a = from_export.run(), b = from_checkpoint.run();
  EXPECT_EQ(a.steps[0].loss, b.steps[0].loss);
  expect_same_bits(a.weights, b.weights);
}

inline void expect_round_trip(const RoundTrip& t) {
  SCOPED_TRACE(describe(t.first) + " and " + summary(t.second.plan) + ", " +
               (t.family.empty() ? "no family" : t.family));
  const TemporaryFolder folder;
  SavedRun run = saved_run(t.first, 2);
  run.save = folder.path();
  const TrainResult result = run.run();
  const std::string checkpoint = folder / "step_00000002";
  const Tensors saved = tensors_in(checkpoint);
  expect_weights_in(saved, result.weights);
  expect_resumes(t.first, folder.path());
  expect_resumes_elsewhere(t, folder.path(), result.weights);
  if (!t.family.empty()) expect_exports(t, checkpoint);
}

}  // namespace pleat::test
