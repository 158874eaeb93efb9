// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "planner/capacity/answer.hpp"

namespace pleat {
namespace {

// In quotes, with an apostrophe before a text that a spreadsheet would take for a formula.
std::string cell(const std::string& text) {
  std::string out = "\"";
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) {
    out += '\'';
  }
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + "\"";
}

std::string line(const Offer& o, bool on_front) {
  if (!o.problem.empty()) {
    return fmt::format("{},{},{}{}\n", cell(o.cluster), o.gpus, std::string(22, ','),
                       cell(o.problem));
  }
  const Booking& b = o.booking;
  const double days = 86'400;
  return fmt::format(
      "{},{},{},{},{:.6g},{:.4f},{:.4f},{},{:.3f},{:.3f},{:.3f},{:.0f},{:.0f},{:.0f},{:.0f},{:.1f},"
      "{:.1f},{:.5f},{:.0f},{},{:.2f},{:.2f},{},{},\n",
      cell(o.cluster), o.gpus, b.placement.paid_gpus, b.placement.spare_units, o.job.step.base(),
      o.job.mfu, o.job.mfu_of_precision, o.job.global_batch, b.finish.expected.base() / days,
      b.finish.p50.base() / days, b.finish.p90.base() / days, b.gpu_hours_p50, b.gpu_hours_p90,
      b.dollars_p50, b.dollars_p90, b.energy_mwh, b.failures, b.goodput, b.save.checkpoint.base(),
      b.save.interval_steps, b.save.stall.base(), b.save.upload.base(), on_front ? 1 : 0,
      cell(summary(o.job.plan)));
}

}  // namespace

std::string capacity_csv(const CapacityAnswer& a) {
  std::string text =
      "cluster,gpus,paid_gpus,spare_units,step_s,mfu,mfu_of_precision,global_batch,"
      "days_expected,days_p50,days_p90,gpu_hours_p50,gpu_hours_p90,usd_p50,usd_p90,"
      "energy_mwh,failures,goodput,checkpoint_bytes,interval_steps,stall_s,upload_s,on_front,plan,"
      "problem\n";
  for (std::size_t i = 0; i < a.offers.size(); ++i) {
    text += line(a.offers[i], std::ranges::find(a.choice.front, i) != a.choice.front.end());
  }
  return text;
}

}  // namespace pleat
