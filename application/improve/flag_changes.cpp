// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/improve/flag_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "core/plan/dispatcher_traits.hpp"
#include "core/plan/numerics.hpp"

namespace pleat {
namespace {

std::map<std::string, std::vector<std::string>> settings_of(const PlanDocument& d,
                                                            interop::Target target) {
  std::map<std::string, std::vector<std::string>> out;
  const interop::ExportContext context{d};
  interop::Exported e;
  for (const interop::FieldRule& rule : interop::field_rules(target))
    if (rule.write != nullptr) rule.write(context, e);
  for (const interop::Setting& s : e.settings) out[s.name] = s.values;
  return out;
}

}  // namespace

std::vector<FlagChange> flag_changes(const PlanDocument& before, const PlanDocument& after,
                                     interop::Target target) {
  const auto a = settings_of(before, target), b = settings_of(after, target);
  std::map<std::string, FlagChange> all;
  for (const auto& [flag, values] : a) all[flag] = {flag, values, {}, true, false};
  for (const auto& [flag, values] : b) {
    FlagChange& c = all[flag];
    c.flag = flag;
    c.after = values;
    c.is_given = true;
  }
  std::vector<FlagChange> out;
  for (auto& [flag, c] : all)
    if (c.was_given != c.is_given || c.before != c.after) out.push_back(std::move(c));
  return out;
}

std::string to_text(const FlagChange& c) {
  const std::string before = fmt::format("{}", fmt::join(c.before, " "));
  const std::string after = fmt::format("{}", fmt::join(c.after, " "));
  if (!c.is_given) return fmt::format("without {}{}{}", c.flag, before.empty() ? "" : " ", before);
  if (!c.was_given || before.empty()) return c.flag + (after.empty() ? "" : " ") + after;
  return fmt::format("{} {} -> {}", c.flag, before, after);
}

std::vector<std::string> change_risks(const Plan& a, const Plan& b, interop::Target target) {
  std::vector<std::string> out;
  const auto add = [&](bool applies, const char* what) {
    if (applies) out.emplace_back(what);
  };
  add(!(numerics_of(a) == numerics_of(b)), "other number formats: compare losses");
  add(b.micro_batch != a.micro_batch, "longer kernels, more activations at once");
  if (target != interop::Target::megatron) return out;
  add(!(a.attention == b.attention) || !(a.expert == b.expert) || a.vpp != b.vpp ||
          a.layout != b.layout || a.sharding != b.sharding,
      "checkpoints must be distributed ones (--ckpt-format torch_dist) to be read again");
  add(b.dispatcher != a.dispatcher && b.dispatcher == Dispatcher::deepep,
      "DeepEP must be installed");
  add(b.dispatcher != a.dispatcher && b.dispatcher == Dispatcher::hybridep,
      "HybridEP must be installed");
  add(b.overlap.expert_parallel && !a.overlap.expert_parallel,
      "CUDA_DEVICE_MAX_CONNECTIONS must be 32, and activations live longer");
  add(b.cuda_graph != a.cuda_graph && b.cuda_graph != CudaGraph::none,
      "graphs keep memory of their own, and need --te-rng-tracker");
  add(b.overlap.tensor_parallel && !a.overlap.tensor_parallel,
      "user buffers of TransformerEngine need MPI or --tp-comm-bootstrap-backend nccl");
  return out;
}

}  // namespace pleat
