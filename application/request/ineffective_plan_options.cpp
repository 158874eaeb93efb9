// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Options of a plan that have no effect beside its other options.
#include <fmt/format.h>

#include "application/request/ineffective_options.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/dispatcher_traits.hpp"
#include "core/plan/numerics.hpp"

namespace pleat {

void refuse_ineffective_plan_options(const ShapeOptions& o, const Plan& plan,
                                     const std::string& where) {
  Diagnostics problems;
  const auto refuse = [&](bool given, const char* option, const std::string& to, const char* hint) {
    if (!given) return;
    problems.error(ExitCode::bad_request, where, option, "has no effect with " + to, hint);
  };
  if (!has_narrow_operands(plan.precision)) {
    const std::string to = "--precision " + name_of(plan.precision);
    const char* const hint = "leave it out, or --precision fp8, mxfp8, ...";
    refuse(o.of<&Plan::fp8_attention>(), "--fp8-attention", to, hint);
    refuse(o.of<&Plan::fp8_head>(), "--fp8-head", to, hint);
  }
  if (!is_fused(plan.dispatcher)) {
    refuse(o.of<&Plan::dispatcher_sms>().has_value(), "--dispatcher-sms",
           "--dispatcher " + name_of(plan.dispatcher), "--dispatcher deepep or hybridep");
  }
  problems.throw_if_errors();
}

}  // namespace pleat
