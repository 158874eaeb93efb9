// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_values.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

constexpr std::array kPrecisions{Precision::fp32,        Precision::fp16,      Precision::bf16,
                                 Precision::fp8,         Precision::fp8_delayed,
                                 Precision::fp8_block,   Precision::mxfp8,     Precision::nvfp4};
constexpr std::array kShardings{Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3};
constexpr std::array kDispatchers{Dispatcher::allgather, Dispatcher::alltoall, Dispatcher::deepep,
                                  Dispatcher::hybridep};
constexpr std::array kRecomputable{Module::layernorm,      Module::mla_up_proj, Module::core_attn,
                                   Module::mlp,            Module::moe_act,
                                   Module::shared_experts, Module::moe};
constexpr std::array kRuntimes{Runtime::pleat, Runtime::megatron};

template <class Values, class NameOf>
auto parse_name(const std::string& word, const std::string& flag, const Values& values,
                NameOf name) {
  std::vector<std::string> names;
  std::string all;
  for (const auto value : values) {
    names.push_back(name(value));
    if (names.back() == word) return value;
    all += (all.empty() ? "" : ", ") + names.back();
  }
  const std::string near = nearest_name(word, names);
  throw_config_error(ExitCode::bad_request, flag, "", "'" + word + "' is not one of " + all,
                     near.empty() ? "" : "did you mean " + near + "?");
}

}  // namespace

std::string name_of_runtime(Runtime runtime) {
  switch (runtime) {
    case Runtime::pleat: return "pleat";
    case Runtime::megatron: return "megatron";
  }
  return "?";
}

Precision parse_precision(const std::string& word, const std::string& flag) {
  return parse_name(word, flag, kPrecisions, [](Precision v) { return name_of(v); });
}

Sharding parse_sharding(const std::string& word, const std::string& flag) {
  return parse_name(word, flag, kShardings, [](Sharding v) { return name_of(v); });
}

Dispatcher parse_dispatcher(const std::string& word, const std::string& flag) {
  return parse_name(word, flag, kDispatchers, [](Dispatcher v) { return name_of(v); });
}

Runtime parse_runtime(const std::string& word, const std::string& flag) {
  return parse_name(word, flag, kRuntimes, name_of_runtime);
}

Recompute parse_recompute(const std::string& words, const std::string& flag) {
  if (words == "none") return {};
  if (words == "full") return {.modules = {}, .full = true};
  Recompute recompute;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find_first_of(",+", begin), words.size());
    recompute.modules.insert(parse_name(words.substr(begin, end - begin), flag, kRecomputable,
                                        [](Module v) { return name_of(v); }));
    begin = end + 1;
  }
  return recompute;
}

}  // namespace pleat::cli
