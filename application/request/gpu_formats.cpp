// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/gpu_formats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/diagnostics.hpp"
#include "planner/space/numerics_rules.hpp"

namespace pleat {
std::vector<Precision> supported_precisions(const ClusterSpec& cluster) {
  std::vector<Precision> list{Precision::bf16};
  if (cluster.gpu.peak_fp8.base() <= 0) return list;
  if (cluster.gpu.peak_fp4.base() <= 0) {
    list.insert(list.end(), {Precision::fp8, Precision::fp8_block});
  } else {
    list.insert(list.end(), {Precision::fp8, Precision::mxfp8, Precision::nvfp4});
  }
  return list;
}

bool computes_format(const Target& target, Precision precision) {
  return target.runtime != Runtime::megatron || target.accept_mismatch ||
         target.cluster.shared_cores > 0 || has_format(target.cluster.gpu, precision);
}

void require_format(const Target& target, Precision precision, const std::string& where,
                    const std::string& otherwise) {
  if (computes_format(target, precision)) return;
  std::vector<std::string> names;
  for (const Precision p : supported_precisions(target.cluster)) names.push_back(name_of(p));
  throw_config_error(ExitCode::bad_request, "", where,
                     fmt::format("the GPU of {} has no tensor cores for {}", target.cluster.name,
                                 name_of(precision)),
                     fmt::format("{}{}", fmt::join(names, ", "), otherwise));
}

}  // namespace pleat
