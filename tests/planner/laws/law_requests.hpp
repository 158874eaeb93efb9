// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Searches drawn at random: shipped models on shipped clusters, of many sizes and batches, with
// some degrees pinned so that they end soon. The same seed gives the same ones.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "core/spec/catalog.hpp"
#include "core/spec/expert_load_json.hpp"
#include "tests/planner/laws/asked_search.hpp"
#include "tests/planner/laws/dice.hpp"

namespace pleat::test {

class RequestMaker {
 public:
  // `few_gpus`: models and sizes whose searches take about a second.
  RequestMaker(std::uint64_t seed, bool few_gpus)
      : seed_(seed), dice_(seed), few_gpus_(few_gpus) {
    models_ = few_gpus
                  ? std::vector<std::string>{"llama3-8b",   "qwen3-8b",         "gpt-7.5b",
                                             "gpt-oss-20b", "deepseek-moe-16b", "moonlight-16b-a3b"}
                  : config_names(ConfigKind::model);
    if (few_gpus) {  // named, as the models are, so that a file more does not draw other requests
      clusters_ = {"a100-sxm",    "ascend-910b", "b200",     "b300",    "gb200-nvl72",
                   "gb300-nvl72", "h100-sxm",    "h200-sxm", "h800-sxm"};
      return;
    }
    for (const std::string& name : config_names(ConfigKind::cluster)) {
      if (load_cluster(name).max_gpus == 0) clusters_.push_back(name);  // not this machine
    }
  }

  // What is drawn for a request, here and by dice(), has a seed of its own: another winner draws
  // other changes of it, and leaves the requests after it as they are.
  Words make() {
    constexpr std::uint64_t kMostRequests = 10'000;
    dice_ = Dice(seed_ * kMostRequests + ++made_);
    const std::string cluster = dice_.one_of(clusters_);
    const int gpus =
        dice_.one_of(few_gpus_ ? std::vector{8, 16} : std::vector{8, 16, 64, 256, 1024});
    const bool pleat = dice_.chance(0.35);
    Words words{"--model",   dice_.one_of(models_),       "--cluster", cluster,
                "--gpus",    std::to_string(gpus),        "--seq-len", length(),
                "--runtime", pleat ? "pleat" : "megatron"};
    const auto add = [&](const char* flag, const std::string& value) {
      words.push_back(flag);
      words.push_back(value);
    };
    add("--global-batch", std::to_string(batch(gpus)));
    add("--precision", pleat ? "bf16" : precision(load_cluster(cluster).gpu));
    const double pinned = few_gpus_ ? 0.9 : 0.7;
    if (dice_.chance(pinned))
      add("--pp", dice_.one_of<std::string>({"1", "1", "2", "4", "1,2", "4,8"}));
    if (dice_.chance(pinned / 2))
      add("--tp", dice_.one_of<std::string>({"1", "2", "4", "1,2", "8"}));
    if (dice_.chance(pinned / 2)) add("--cp", dice_.one_of<std::string>({"1", "2", "1,2", "1..8"}));
    return words;
  }

  // Of a model with experts, for the runtime that places them, with a file of their loads.
  Words make_with_loads() {
    for (;;) {
      Words words = make();
      const ModelSpec model = load_model(value_of(words, "--model")).model;
      if (!model.moe) continue;
      value_of(words, "--runtime") = "pleat";
      value_of(words, "--precision") = "bf16";
      const std::string file = cli_test::test_folder() + "/loads.json";
      std::ofstream(file) << loads(model).dump();
      words.push_back("--routing");
      words.push_back(file);
      return words;
    }
  }

  Dice& dice() { return dice_; }

 private:
  static std::string& value_of(Words& words, const char* flag) {
    return *(std::ranges::find(words, flag) + 1);
  }
  // Some layers alike, a few experts of each busy.
  JsonValue loads(const ModelSpec& model) {
    std::vector<ExpertLoads> all;
    for (int l = 0; l < model.layers; ++l) {
      if (!model.is_moe(l)) continue;
      const bool alike = !all.empty() && dice_.chance(0.7);
      all.push_back({l, alike ? all.back().of : std::vector<double>{}});
      for (std::int64_t e = 0; !alike && e < model.moe->experts; ++e) {
        all.back().of.push_back(dice_.one_of<double>({1, 1, 1, 2, 3, 15}));
      }
    }
    return JsonValue::object().set("expert_loads", write_expert_loads(all));
  }

  std::string length() { return dice_.one_of<std::string>({"2048", "4096", "8192", "32768"}); }
  int batch(int gpus) { return std::max(1, gpus * dice_.one_of<int>({1, 2, 4, 16, 64}) / 2); }
  std::string precision(const GpuSpec& gpu) {
    std::vector<std::string> all{"bf16"};
    if (gpu.peak_fp8.base() > 0) all.emplace_back("fp8");
    if (gpu.peak_fp4.base() > 0) all.emplace_back("mxfp8");  // both came with Blackwell
    return dice_.one_of(all);
  }

  std::uint64_t seed_, made_ = 0;
  Dice dice_;
  bool few_gpus_;
  std::vector<std::string> models_, clusters_;
};

}  // namespace pleat::test
