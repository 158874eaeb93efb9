// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/gpu_formats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/diagnostics.hpp"
#include "core/plan/dispatcher_traits.hpp"
#include "planner/space/numerics_rules.hpp"

namespace pleat {
namespace {

bool needs_software(const Target& target) {
  return target.runtime == Runtime::megatron && !target.accept_mismatch &&
         target.cluster.shared_cores == 0;
}

constexpr const char* kPriceIt = "; --accept-mismatch prices it all the same";

[[noreturn]] void refuse_software(const Target& target, std::string_view what,
                                  const SoftwareFact& fact, const std::string& where,
                                  const std::string& hint) {
  throw_config_error(
      ExitCode::bad_request, "", where,
      fmt::format("{} has no {}{}{}", target.cluster.name, what, fact.source.empty() ? "" : ": ",
                  fact.source),
      hint);
}

std::string supported_names(const Target& target) {
  std::vector<std::string> names;
  for (const Precision p : supported_precisions(target.cluster)) names.push_back(name_of(p));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<Precision> supported_precisions(const ClusterSpec& cluster) {
  std::vector<Precision> list{Precision::bf16};
  if (cluster.gpu.peak_fp8.base() <= 0) return list;
  if (cluster.gpu.peak_fp4.base() <= 0) {
    list.insert(list.end(), {Precision::fp8, Precision::fp8_block});
  } else {
    list.insert(list.end(), {Precision::fp8, Precision::mxfp8, Precision::nvfp4});
  }
  std::erase_if(list, [&](Precision p) { return !has_format(cluster, p); });
  return list;
}

bool computes_format(const Target& target, Precision precision) {
  return !needs_software(target) || has_format(target.cluster, precision);
}

void require_format(const Target& target, Precision precision, const std::string& where,
                    const std::string& otherwise) {
  if (computes_format(target, precision)) return;
  const std::string hint = supported_names(target) + otherwise;
  const std::optional<Software> library = software_of(precision);
  if (library && target.cluster.lacks(*library)) {
    refuse_software(target, name_of(precision), *target.cluster.fact(*library), where, hint);
  }
  throw_config_error(ExitCode::bad_request, "", where,
                     fmt::format("the GPU of {} has no tensor cores for {}", target.cluster.name,
                                 name_of(precision)),
                     hint);
}

void require_dispatcher(const Target& target, Dispatcher dispatcher, const std::string& where) {
  const std::optional<Software> library = traits_of(dispatcher).library;
  if (!needs_software(target) || !library || !target.cluster.lacks(*library)) return;
  refuse_software(target, name_of(dispatcher), *target.cluster.fact(*library), where,
                  std::string("alltoall or allgather") + kPriceIt);
}

void require_software(const Target& target, const Plan& plan, const std::string& where) {
  if (!needs_software(target)) return;
  const std::optional<Software> library = software_of(plan.precision);
  if (library && target.cluster.lacks(*library)) {
    refuse_software(target, name_of(plan.precision), *target.cluster.fact(*library), where,
                    supported_names(target) + kPriceIt);
  }
  if (target.model.moe) require_dispatcher(target, plan.dispatcher, where);
}

}  // namespace pleat
