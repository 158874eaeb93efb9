// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The executor on a GPU, or on the GPU's kernels in emulation, against the CPU.
#pragma once

#include <algorithm>
#include <string>

#include "tests/backend/device/device_cases.hpp"
#include "tests/backend/device/queue_cases.hpp"
#include "tests/backend/device/same_results.hpp"

namespace pleat::test {

using MakeDevice = std::function<std::unique_ptr<Device>(Rank)>;

// AdamW without memory, whose eps is all of its denominator, or as straight a rule of the others: a
// difference stays as small as the gradients'.
inline TrainConfig parity_config(const DeviceCase& c, int steps) {
  TrainConfig config = small_config(steps);
  skew(config);
  // Rounded scores tie, and another order of sums sends a token elsewhere.
  config.forced_routing = c.forced || c.plan.precision != Precision::fp32;
  config.adamw = {.lr = 300, .beta1 = 0, .beta2 = 0, .eps = 1000};
  const OptimizerKind kind = c.plan.optimizer.kind;
  if (kind == OptimizerKind::sgd) config.adamw.lr = 0.3;
  if (kind == OptimizerKind::lamb) config.adamw.lr = 0.01;
  if (kind == OptimizerKind::muon) config.adamw.lr = 1e-3;
  return config;
}

// Sums in another order round a few codes to another value, which a second step makes percents of:
// such plans are compared over one.
inline bool has_codes(const DeviceCase& c) {
  return c.plan.precision != Precision::fp32 && c.plan.precision != Precision::bf16;
}

// A GPU rounds what codes of attention's operands stand for to bf16, where they have a scale of
// fp32. What the softmax's gradient leaves of that are queries' and keys' gradients, small
// differences of large numbers: they are as far apart as those of attention in fp8 and wide
// attention (quantized_test). The kernels themselves agree within 1% (conformance).
inline bool rounds_codes(const DeviceCase& c) {
  return c.plan.fp8_attention && c.plan.precision == Precision::fp8;
}

// Who computes: kernels that round where the CPU's do, or libraries too, whose attention rounds
// probabilities and their gradients to bf16 between two products.
enum class Arithmetic { own, libraries };

struct Bounds {
  double results;    // losses, norms and weights
  double gradients;  // ‖difference‖ / ‖gradient‖ of each tensor
};

// A sum in another order takes a few numbers to the next bf16, one of them a code to the next,
// which is an eighth of its size away, and the backward pass carries that on to every layer before:
// 5% from one step of one weight on the CPU alone (emulated_gpu_slow_test). Probabilities that a
// library rounds do this to many codes: gradients are then as far apart as those of codes and of
// bf16 (quantized_test).
inline Bounds bounds_of(const DeviceCase& c, Arithmetic by) {
  const bool libraries = by == Arithmetic::libraries;
  if (has_codes(c) && libraries) return {0.05, c.plan.precision == Precision::nvfp4 ? 0.5 : 0.3};
  if (rounds_codes(c)) return {0.05, 0.3};
  if (has_codes(c)) return {0.01, c.plan.fp8_attention ? 0.05 : 0.01};
  if (c.plan.precision != Precision::fp32) return libraries ? Bounds{0.1, 0.1} : Bounds{0.05, 0.05};
  // What orthogonalises makes small directions as long as large ones, their rounding too.
  return c.plan.optimizer.kind == OptimizerKind::muon ? Bounds{1e-3, 1e-3} : Bounds{1e-5, 1e-5};
}

inline DeviceCase in_graphs(const GraphCase& c) {
  DeviceCase changed = c.of;
  changed.plan.cuda_graph = c.scope;
  return changed;
}

// Weights that begin at zero are their first step alone, which is as far apart as its gradient.
inline bool begins_at_zero(const std::string& weight) {
  return weight.ends_with(".bias") || weight.ends_with(".sinks");
}

inline void expect_close_weights(const Tensors& actual, const Tensors& reference,
                                 const Bounds& bounds) {
  Tensors zeros_there, zeros_here, others_there, others_here;
  for (const auto& [name, values] : actual) {
    (begins_at_zero(name) ? zeros_there : others_there)[name] = values;
  }
  for (const auto& [name, values] : reference) {
    (begins_at_zero(name) ? zeros_here : others_here)[name] = values;
  }
  expect_close(zeros_there, zeros_here, std::max(bounds.results, bounds.gradients));
  expect_close(others_there, others_here, bounds.results);
}

// Losses, gradients and weights within their bounds, the same peak of memory.
inline void expect_parity(const DeviceCase& c, const MakeDevice& make_device, int steps = 2,
                          bool poison = true, Arithmetic by = Arithmetic::own) {
  const Bounds bounds = bounds_of(c, by);
  const double tolerance = bounds.results;
  TrainConfig config = parity_config(c, has_codes(c) ? 1 : steps);
  config.poison = config.measure_margin = poison;  // without them streams and graphs are used
  config.captures_graphs = true;
  const TrainResult here = run(c.model, c.plan, config, c.workload);
  config.make_device = make_device;
  const TrainResult there = run(c.model, c.plan, config, c.workload);
  for (std::size_t s = 0; s < here.steps.size(); ++s) {
    EXPECT_NEAR(there.steps[s].loss, here.steps[s].loss, tolerance * here.steps[s].loss) << s;
    EXPECT_NEAR(there.steps[s].grad_norm, here.steps[s].grad_norm,
                tolerance * here.steps[s].grad_norm)
        << s;
  }
  expect_close(there.gradients, here.gradients, bounds.gradients);
  expect_close_weights(there.weights, here.weights, bounds);
  for (std::size_t r = 0; r < here.ranks.size(); ++r) {
    EXPECT_EQ(there.ranks[r].peak_live_bytes, here.ranks[r].peak_live_bytes) << r;
    expect_same_rows(there.ranks[r], here.ranks[r]);
  }
}

inline std::vector<DeviceCase> device_cases_named(const std::vector<std::string>& names) {
  std::vector<DeviceCase> cases;
  for (const DeviceCase& c : device_cases()) {
    if (std::ranges::find(names, c.name) != names.end()) cases.push_back(c);
  }
  EXPECT_EQ(cases.size(), names.size());
  return cases;
}

inline void expect_repeatable(const DeviceCase& c, const MakeDevice& make_device,
                              bool poison = true) {
  TrainConfig config = parity_config(c, poison ? 2 : 5);
  config.poison = config.measure_margin = poison;
  config.captures_graphs = true;
  config.make_device = make_device;
  const TrainResult first = run(c.model, c.plan, config, c.workload);
  const TrainResult second = run(c.model, c.plan, config, c.workload);
  expect_same_bits(second.gradients, first.gradients);
  expect_same_bits(second.weights, first.weights);
}

}  // namespace pleat::test
