// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/run_comparison.hpp"

#include <fmt/format.h>

#include "backend/device_memory.hpp"
#include "console/tables.hpp"
#include "application/training/measured_run.hpp"
#include "core/json/json_value.hpp"
#include "core/plan/rank_map.hpp"

namespace pleat {
namespace {

std::string relative(double measured, double predicted) {
  return format_percent(predicted / measured - 1);
}

}  // namespace

RunComparison compare_run(const Program& program, const StepEstimate& predicted,
                          const TrainResult& result) {
  RunComparison c;
  c.predicted = predicted;
  c.measured = median_step(result.steps);
  c.measured_bytes = measured_peak(result);
  c.recorded_bytes = recorded_peak(program, result);
  c.host_bytes = measured_host_peak(result);
  c.recorded_host_bytes = recorded_peak(program, result, true);
  return c;
}

void set_device_bytes(RunComparison& c, const Program& program, const TrainResult& result,
                      const DeviceOptions& o, int gpus, Bytes context) {
  if (program.plan.world() > gpus) return;
  const bool nccl = o.collectives == "nccl";
  const auto held = static_cast<std::int64_t>(context.base());
  for (std::size_t r = 0; r < result.ranks.size(); ++r) {
    const RankMeasurement& rank = result.ranks[r];
    if (rank.device_bytes <= c.device_bytes) continue;
    const Stage stage{attention_coordinates(program.plan, Rank{static_cast<int>(r)}).pp};
    c.device_bytes = rank.device_bytes;
    c.recorded_device_bytes =
        predicted_device_bytes(program, stage, recorded_routing(rank),
                               {.nccl = nccl,
                                .windows = o.symmetric_windows,
                                .context = held,
                                .deterministic_attention = !o.any_order_attention})
            .total();
  }
}

std::string to_text(const RunComparison& c) {
  Table table{{{"", Align::left}, {"predicted"}, {"measured"}, {"error"}}, {}};
  table.rows.push_back({"step time", format_seconds(c.predicted.step), format_seconds(c.measured),
                        relative(c.measured.base(), c.predicted.step.base())});
  const auto measured = static_cast<double>(c.measured_bytes);
  table.rows.push_back({"peak memory, expected routing", format_bytes(c.predicted.peak_bytes()),
                        format_bytes(c.measured_bytes),
                        relative(measured, static_cast<double>(c.predicted.peak_bytes()))});
  table.rows.push_back({"peak memory, recorded routing", format_bytes(c.recorded_bytes),
                        format_bytes(c.measured_bytes),
                        relative(measured, static_cast<double>(c.recorded_bytes))});
  if (c.host_bytes > 0) {
    table.rows.push_back({"host memory, recorded routing", format_bytes(c.recorded_host_bytes),
                          format_bytes(c.host_bytes),
                          relative(static_cast<double>(c.host_bytes),
                                   static_cast<double>(c.recorded_host_bytes))});
  }
  if (c.device_bytes > 0) {
    table.rows.push_back({"GPU memory, by its driver", format_bytes(c.recorded_device_bytes),
                          format_bytes(c.device_bytes),
                          relative(static_cast<double>(c.device_bytes),
                                   static_cast<double>(c.recorded_device_bytes))});
  }
  return to_text(table);
}

std::string to_json(const RunComparison& c, const Request& r, const TrainResult& result) {
  JsonValue steps = JsonValue::array();
  for (const StepRecord& s : result.steps) {
    JsonValue step = JsonValue::object();
    step.set("loss", s.loss).set("grad_norm", s.grad_norm).set("seconds", s.seconds);
    if (s.validation_loss) step.set("validation_loss", *s.validation_loss);
    const ExtraLosses& x = s.extra;
    for (const auto& [name, value] : {std::pair{"mtp_loss", x.mtp}, {"aux_loss", x.aux},
                                      {"seq_aux_loss", x.seq_aux}, {"z_loss", x.z}}) {
      if (value > 0) step.set(name, value);
    }
    steps.push_back(step);
  }
  JsonValue predicted = JsonValue::object();
  predicted.set("step_s", c.predicted.step.base())
      .set("peak_bytes", c.predicted.peak_bytes())
      .set("peak_bytes_recorded_routing", c.recorded_bytes);
  JsonValue measured = JsonValue::object();
  measured.set("step_s", c.measured.base()).set("peak_bytes", c.measured_bytes);
  if (c.host_bytes > 0) {
    predicted.set("host_bytes_recorded_routing", c.recorded_host_bytes);
    measured.set("host_bytes", c.host_bytes);
  }
  if (c.device_bytes > 0) {
    predicted.set("device_bytes_recorded_routing", c.recorded_device_bytes);
    measured.set("device_bytes", c.device_bytes);
  }
  JsonValue json = JsonValue::object();
  json.set("model", r.target.model.name)
      .set("plan", summary(r.plan))
      .set("profile", r.target.profile.name)
      .set("predicted", predicted)
      .set("measured", measured)
      .set("steps", steps);
  return json.dump() + "\n";
}

}  // namespace pleat
