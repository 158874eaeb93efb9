// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "cli/option_checks.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

constexpr int kMaxWorld = 16'777'216;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 40;

const char* const kWorkload = "Workload";
const char* const kShape = "Plan";

// The integer fields of a shape with the names they are typed under.
std::vector<std::pair<std::string, std::optional<int>*>> degrees(ShapeOptions& s) {
  return {{"tp", &s.tp}, {"cp", &s.cp},   {"pp", &s.pp},   {"vpp", &s.vpp},
          {"ep", &s.ep}, {"etp", &s.etp}, {"micro-batch", &s.micro_batch}};
}

std::vector<std::pair<std::string, std::optional<std::string>*>> words(ShapeOptions& s) {
  return {{"layout", &s.layout},       {"precision", &s.precision}, {"recompute", &s.recompute},
          {"sharding", &s.sharding},   {"dispatcher", &s.dispatcher}};
}

// Empty when fine, else what is wrong.
std::string assign(ShapeOptions& shape, const std::string& key, const std::string& value) {
  std::vector<std::string> names{"ep-overlap"};
  for (const auto& [name, field] : degrees(shape)) {
    names.push_back(name);
    if (name != key) continue;
    int number = 0;
    const char* const end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end || number < 1 || number > kMaxWorld) {
      return key + ": '" + value + "' is not a whole number from 1 to " + std::to_string(kMaxWorld);
    }
    *field = number;
    return {};
  }
  for (const auto& [name, field] : words(shape)) {
    names.push_back(name);
    if (name != key) continue;
    *field = value;
    return {};
  }
  if (key == "ep-overlap") {
    shape.ep_overlap = true;
    return {};
  }
  const std::string near = nearest_name(key, names);
  return "unknown plan field '" + key + "'" + (near.empty() ? "" : "; did you mean " + near + "?");
}

}  // namespace

void add_target_options(CLI::App& app, TargetOptions& o) {
  const auto describe = [&](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->group(kWorkload);
  };
  describe("-m,--model", o.model, "Name of a shipped model (`pleat models`) or a Hugging Face config.json");
  describe("-c,--cluster", o.cluster, "Name of a shipped cluster (`pleat clusters`) or a cluster file");
  describe("-n,--gpus", o.gpus, "GPUs in the job")->check(in_range(1, kMaxWorld));
  describe("-s,--seq-len", o.seq_len, "Tokens of a sequence")->check(in_range(std::int64_t{1}, kMaxTokens));
  describe("-b,--global-batch", o.global_batch, "Sequences of a step, over all GPUs")
      ->check(in_range(std::int64_t{1}, kMaxTokens));
  describe("--runtime", o.runtime,
           "Dialect to compile for: megatron or pleat (default: the profile's, else pleat on "
           "localhost and megatron elsewhere)");
  describe("--profile", o.profile,
           "Profile name or file (default: the newest of the cluster and runtime, else datasheet "
           "efficiencies)");
  app.add_flag("--accept-mismatch", o.accept_mismatch,
               "Go on when a profile or a plan file was made for something else")
      ->group(kWorkload);
}

void add_shape_options(CLI::App& app, ShapeOptions& o) {
  const auto degree = [&](const char* name, std::optional<int>& value, const char* text) {
    app.add_option(name, value, text)->check(in_range(1, kMaxWorld))->group(kShape);
  };
  const auto word = [&](const char* name, std::optional<std::string>& value, const char* text) {
    app.add_option(name, value, text)->group(kShape);
  };
  degree("--tp", o.tp, "Tensor parallel size of attention and dense layers");
  degree("--cp", o.cp, "Context parallel size");
  degree("--pp", o.pp, "Pipeline stages (data parallel size follows from --gpus)");
  degree("--vpp", o.vpp, "Virtual pipeline stages on each pipeline rank");
  degree("--ep", o.ep, "Expert parallel size (expert data parallel size follows from --gpus)");
  degree("--etp", o.etp, "Tensor parallel size inside an expert");
  degree("--micro-batch", o.micro_batch, "Sequences of a microbatch");
  word("--layout", o.layout, "Layers of each virtual stage, \"Et*3|(tt|)*29m|L\" (default: even)");
  word("--precision", o.precision, "fp32, bf16, fp8, mxfp8 or nvfp4");
  word("--recompute", o.recompute,
       "none, full, or modules with commas: layernorm, mla_up_proj, core_attn, mlp, moe_act, "
       "shared_experts, moe");
  word("--sharding", o.sharding, "none, zero1, zero2 or zero3");
  word("--dispatcher", o.dispatcher, "allgather, alltoall, deepep or hybridep");
  app.add_flag("--ep-overlap", o.ep_overlap,
               "Hide expert communication of one microbatch behind the compute of another")
      ->group(kShape);
}

void add_plan_options(CLI::App& app, PlanOptions& o) {
  app.add_option("-p,--plan", o.plan_file, "A plan file; replaces all of the options below");
  add_target_options(app, o.target);
  add_shape_options(app, o.shape);
}

ShapeOptions parse_shape(const std::string& text, const std::string& flag) {
  ShapeOptions shape;
  Diagnostics problems;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    const std::string problem = value.empty() && key != "ep-overlap"
                                    ? "'" + part + "' is not name=value"
                                    : assign(shape, key, value);
    if (!problem.empty()) {
      problems.error(ExitCode::bad_request, flag, "", problem, "for example tp=1,pp=2,vpp=8,ep=32");
    }
    begin = end + 1;
  }
  problems.throw_if_errors();
  return shape;
}

std::string first_shape_flag(const ShapeOptions& given) {
  ShapeOptions shape = given;
  for (const auto& [name, field] : degrees(shape)) {
    if (*field) return "--" + name;
  }
  for (const auto& [name, field] : words(shape)) {
    if (*field) return "--" + name;
  }
  return shape.ep_overlap ? "--ep-overlap" : "";
}

}  // namespace pleat::cli
