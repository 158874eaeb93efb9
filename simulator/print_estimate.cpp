// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// An estimate as a table for people, and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json/json_value.hpp"
#include "simulator/estimate.hpp"

namespace pleat {
namespace {

// One unit for the whole column of a table.
struct Unit {
  const char* name;
  double size;
};

Unit time_unit(Seconds largest) {
  if (largest >= Seconds(10)) return {"s", 1};
  return largest >= Seconds(1e-2) ? Unit{"ms", 1e-3} : Unit{"us", 1e-6};
}

Unit byte_unit(std::int64_t largest) {
  constexpr double kKiB = 1024;
  if (static_cast<double>(largest) >= kKiB * kKiB * kKiB) return {"GiB", kKiB * kKiB * kKiB};
  return static_cast<double>(largest) >= kKiB * kKiB ? Unit{"MiB", kKiB * kKiB} : Unit{"KiB", kKiB};
}

std::string parts_table(const StepEstimate& e) {
  const Unit unit = time_unit(e.step);
  std::string text = fmt::format("  {:<14} {:>12} {:>7}\n", "part", unit.name, "share");
  for (std::size_t i = 0; i < kCostClasses; ++i) {
    if (std::abs(e.parts[i].base()) <= 1e-12 * e.step.base()) continue;
    text += fmt::format("  {:<14} {:>12.3f} {:>6.1f}%\n", name_of(static_cast<CostClass>(i)),
                        e.parts[i].base() / unit.size, 100.0 * (e.parts[i] / e.step));
  }
  text += fmt::format("  {:<14} {:>12.3f} {:>6.1f}%\n", "step", e.step.base() / unit.size, 100.0);
  return text;
}

std::string stages_table(const StepEstimate& e) {
  const Unit time = time_unit(e.step);
  const Unit bytes = byte_unit(e.peak_bytes());
  std::string text =
      fmt::format("  {:<6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>11} {:>10} {:>10}\n", "stage",
                  "busy " + std::string(time.name), "bubble", "weights", "gradients", "optimizer",
                  "activations", "runtime", "peak " + std::string(bytes.name));
  for (std::size_t s = 0; s < e.memory.size(); ++s) {
    const StageMemory& m = e.memory[s];
    auto size = [&](std::int64_t b) { return static_cast<double>(b) / bytes.size; };
    const double idle = e.stages[s].bubble.base();
    text += fmt::format("  {:<6} {:>10.3f} {:>10.3f} {:>10.2f} {:>10.2f} {:>10.2f} {:>11.2f} "
                        "{:>10.2f} {:>10.2f}\n",
                        m.stage.value, e.stages[s].busy.base() / time.size,
                        idle / time.size, size(m.weights), size(m.gradients),
                        size(m.optimizer), size(m.activations), size(m.runtime), size(m.peak));
  }
  return text;
}

int busiest_stage(const StepEstimate& e) {
  const auto busiest = std::ranges::max_element(
      e.stages, [](const StageTime& a, const StageTime& b) { return a.busy < b.busy; });
  return busiest == e.stages.end() ? 0 : busiest->stage.value;
}

}  // namespace

std::string print_estimate(const StepEstimate& e, const Program& program,
                           const ClusterSpec& cluster, const Profile& profile) {
  const Unit time = time_unit(e.step);
  const double capacity = cluster.gpu.memory.base();
  const Unit bytes = byte_unit(e.peak_bytes());
  std::string text = fmt::format("{} on {} x {}: {}\n", program.model.name, program.plan.world(),
                                 cluster.gpu.name, summary(program.plan));
  text += fmt::format("sequence {}, global batch {}, {} microbatches\n\n",
                      program.workload.seq_len, program.workload.global_batch,
                      program.plan.microbatches(program.workload.global_batch));
  text += fmt::format("step time {:.3f} {} (between {:.3f} and {:.3f}), busiest stage {}:\n",
                      e.step.base() / time.size, time.name, e.low.base() / time.size,
                      e.high.base() / time.size, busiest_stage(e));
  text += parts_table(e) + "\n" + stages_table(e) + "\n";
  text += fmt::format("memory      {:.2f} {} of {:.2f} {}: {}; {:.2f} {} of it in tensors\n",
                      static_cast<double>(e.peak_bytes()) / bytes.size, bytes.name,
                      capacity / bytes.size, bytes.name, e.fits ? "fits" : "does not fit",
                      static_cast<double>(e.peak_allocated_bytes()) / bytes.size, bytes.name);
  if (e.host_bytes > 0) {
    const Unit host = byte_unit(e.host_bytes);
    const double there = cluster.host_memory.base();
    text += fmt::format("host        {:.2f} {} of a node{}\n",
                        static_cast<double>(e.host_bytes) / host.size, host.name,
                        there > 0 ? fmt::format(" with {:.2f} {}: {}", there / host.size, host.name,
                                                static_cast<double>(e.host_bytes) <= there
                                                    ? "fits" : "does not fit")
                                  : "");
  }
  text += fmt::format("throughput  {:.6g} tokens/s, {:.6g} per GPU, {:.4g} model TFLOP/s per GPU, "
                      "MFU {:.1f}%\n",
                      e.tokens_per_second, e.tokens_per_second_per_gpu,
                      e.model_flops_per_gpu.base() / 1e12, 100.0 * e.mfu);
  text +=
      fmt::format("profile     {} ({}), constants {} at worst, band +-{:.0f}%\n", profile.name,
                  runtime_name(program.runtime), source_name(e.source), 100.0 * e.relative_band);
  return text;
}

// An estimate as JSON: seconds and bytes, keys in a fixed order.

namespace {

JsonValue stage_json(const StageTime& time, const StageMemory& m) {
  return JsonValue::object()
      .set("stage", m.stage.value)
      .set("busy_s", JsonValue::finite(time.busy.base()))
      .set("bubble_s", JsonValue::finite(time.bubble.base()))
      .set("memory_bytes", JsonValue::object()
                               .set("weights", m.weights)
                               .set("gradients", m.gradients)
                               .set("optimizer", m.optimizer)
                               .set("activations", m.activations)
                               .set("runtime", m.runtime)
                               .set("outside", m.outside)
                               .set("allocated", m.allocated())
                               .set("reserved", m.reserved())
                               .set("host", m.host)
                               .set("peak", m.peak));
}

}  // namespace

JsonValue estimate_json(const StepEstimate& e, const Program& program, const ClusterSpec& cluster,
                        const Profile& profile) {
  JsonValue parts = JsonValue::object();
  for (std::size_t i = 0; i < kCostClasses; ++i) {
    parts.set(name_of(static_cast<CostClass>(i)), JsonValue::finite(e.parts[i].base()));
  }
  JsonValue stages = JsonValue::array();
  for (std::size_t s = 0; s < e.memory.size(); ++s) {
    stages.push_back(stage_json(e.stages[s], e.memory[s]));
  }
  JsonValue band = JsonValue::array();
  band.push_back(JsonValue::finite(e.low.base())).push_back(JsonValue::finite(e.high.base()));
  return JsonValue::object()
      .set("schema_version", 1)
      .set("model", program.model.name)
      .set("cluster", cluster.name)
      .set("gpus", program.plan.world())
      .set("plan", summary(program.plan))
      .set("runtime", runtime_name(program.runtime))
      .set("profile", profile.name)
      .set("source", source_name(e.source))
      .set("step_s", JsonValue::finite(e.step.base()))
      .set("band_s", std::move(band))
      .set("parts_s", std::move(parts))
      .set("stages", std::move(stages))
      .set("peak_bytes", e.peak_bytes())
      .set("peak_allocated_bytes", e.peak_allocated_bytes())
      .set("peak_reserved_bytes", e.peak_reserved_bytes())
      .set("peak_device_bytes", e.peak_device_bytes())
      .set("host_node_bytes", e.host_bytes)
      .set("gpu_memory_bytes", static_cast<std::int64_t>(cluster.gpu.memory.base()))
      .set("host_node_memory_bytes", static_cast<std::int64_t>(cluster.host_memory.base()))
      .set("fits", e.fits)
      .set("tokens_per_second", JsonValue::finite(e.tokens_per_second))
      .set("tokens_per_second_per_gpu", JsonValue::finite(e.tokens_per_second_per_gpu))
      .set("model_flops_per_gpu", JsonValue::finite(e.model_flops_per_gpu.base()))
      .set("mfu", JsonValue::finite(e.mfu));
}

}  // namespace pleat
