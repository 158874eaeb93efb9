// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
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
                                  Dispatcher::hybridep, Dispatcher::hierarchical};
constexpr std::array kGraphs{CudaGraph::none, CudaGraph::attention, CudaGraph::router,
                             CudaGraph::partial, CudaGraph::full_iteration};
constexpr std::array kCpComms{CpComm::p2p, CpComm::all_gather, CpComm::all_to_all,
                              CpComm::a2a_p2p};
constexpr std::array kSchedules{PipelineSchedule::one_f_one_b, PipelineSchedule::zb_h1,
                                PipelineSchedule::zb_v, PipelineSchedule::dualpipe,
                                PipelineSchedule::dualpipe_v};
constexpr std::array kStateTypes{DType::fp32, DType::bf16, DType::fp8, DType::fp16,
                                 DType::remainder16};
constexpr std::array kOptimizers{OptimizerKind::adamw, OptimizerKind::lamb, OptimizerKind::sgd,
                                 OptimizerKind::muon};
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

template <class Value, class Values>
std::set<Value> parse_names(const std::string& words, const std::string& flag,
                            const Values& values) {
  std::set<Value> found;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find_first_of(",+", begin), words.size());
    found.insert(parse_name(words.substr(begin, end - begin), flag, values,
                            [](Value v) { return name_of(v); }));
    begin = end + 1;
  }
  return found;
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

CudaGraph parse_cuda_graph(const std::string& word, const std::string& flag) {
  return parse_name(word, flag, kGraphs, [](CudaGraph v) { return name_of(v); });
}

PipelineSchedule parse_schedule(const std::string& word, const std::string& flag) {
  return parse_name(word, flag, kSchedules, [](PipelineSchedule v) { return name_of(v); });
}

OptimizerKind parse_optimizer(const std::string& word, const std::string& flag) {
  if (word == "adam") return OptimizerKind::adamw;  // Megatron's word
  return parse_name(word, flag, kOptimizers, [](OptimizerKind v) { return name_of(v); });
}

CpComm parse_cp_comm(const std::string& word, const std::string& flag) {
  if (word == "a2a") return CpComm::all_to_all;  // Megatron's word
  return parse_name(word, flag, kCpComms, [](CpComm v) { return name_of(v); });
}

DType parse_state_type(const std::string& word, const std::string& flag) {
  return parse_name(word, flag, kStateTypes, [](DType v) { return std::string(name_of(v)); });
}

Recompute parse_recompute(const std::string& words, const std::string& flag) {
  if (words == "none") return {};
  if (words == "full") return {.modules = {}, .full = true};
  if (words.starts_with("full:")) {
    Recompute full{.modules = {}, .full = true};
    const char* const end = words.data() + words.size();
    const auto parsed = std::from_chars(words.data() + 5, end, full.layers);
    if (parsed.ec == std::errc() && parsed.ptr == end && full.layers > 0) return full;
    throw_config_error(ExitCode::bad_request, flag, "",
                       "'" + words.substr(5) + "' is not a number of layers", "for example full:2");
  }
  return {.modules = parse_names<Module>(words, flag, kRecomputable)};
}

std::set<Offload> parse_offload(const std::string& words, const std::string& flag) {
  if (words == "none") return {};
  return parse_names<Offload>(words, flag, kOffloads);
}

PlanNames plan_names() {
  const auto names = [](const auto& values, std::vector<std::string> first = {}) {
    for (const auto v : values) first.emplace_back(name_of(v));
    return first;
  };
  PlanNames all{.precision = names(kPrecisions),
                .sharding = names(kShardings),
                .dispatcher = names(kDispatchers),
                .runtime = {},
                .cuda_graph = names(kGraphs),
                .schedule = names(kSchedules),
                .optimizer = names(kOptimizers),
                .cp_comm = names(kCpComms),
                .state_type = names(kStateTypes),
                .recompute = names(kRecomputable, {"none", "full"}),
                .offload = names(kOffloads, {"none"})};
  for (const Runtime runtime : kRuntimes) all.runtime.push_back(name_of_runtime(runtime));
  return all;
}

}  // namespace pleat::cli
