// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/processes/devices.hpp"

#include <fmt/format.h>

#include <mutex>
#include <set>
#include <stdexcept>

#include "backend/supported.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "kernels/cuda/device_error.hpp"
#include "kernels/gpu_library.hpp"

namespace pleat {
namespace {

// What the drivers of GPUs read, where the user has set nothing. More streams than hardware queues
// share one, and work would stand behind a receive that it does not need; NCCL's communicators of a
// GPU are launched in the host's order.
struct Variable {
  const char *name, *value;
};
constexpr Variable kGpuVariables[] = {{"CUDA_DEVICE_MAX_CONNECTIONS", "32"},
                                      {"NCCL_LAUNCH_ORDER_IMPLICIT", "1"}};

// Groups of the same kind have the same to say.
void print_once(const std::string& line) {
  static std::mutex mutex;
  static std::set<std::string> printed;
  const std::lock_guard lock(mutex);
  if (printed.insert(line).second) fmt::print(stderr, "{}\n", line);
}

std::unique_ptr<Device> gpu_of(Rank rank, int gpus, const DeviceOptions& o) {
  CudaOptions options;
  options.deterministic_attention = !o.any_order_attention;
  return gpu_library().device(rank.value % gpus, options);
}

}  // namespace

int usable_gpus() {
  for (const auto& [name, value] : kGpuVariables) set_default_variable(name, value);
  int gpus = 0;
  try {
    gpus = gpu_library().device_count();
  } catch (const DeviceError& e) {
    throw_config_error(ExitCode::device_or_io, "--device", "", e.what());
  }
  if (gpus == 0) {
    throw_config_error(ExitCode::device_or_io, "--device", "",
                       "no NVIDIA GPU can be used here: there is none, or no driver for it",
                       "`nvidia-smi` shows what the driver finds; --device cpu uses the CPU");
  }
  return gpus;
}

std::vector<std::unique_ptr<Device>> gpus_of(const JobPart& part) {
  const int gpus = usable_gpus();
  std::vector<std::unique_ptr<Device>> all;
  for (const auto& transport : part.ranks()) all.push_back(gpu_of(transport->rank(), gpus, {}));
  return all;
}

void require_nccl_for_windows(const DeviceOptions& o) {
  if (!o.symmetric_windows || (o.device == "cuda" && o.collectives == "nccl")) return;
  throw_config_error(ExitCode::bad_request, "--symmetric-windows", "",
                     "windows are NCCL's, between GPUs", "--device cuda --collectives nccl");
}

std::string joined_text(const DeviceOptions& o) {
  return fmt::format("{},{},{},{},{}", o.device, o.collectives, o.ordered_sums, o.symmetric_windows,
                     o.any_order_attention);
}

void set_device(const DeviceOptions& o, const Program& program, TrainConfig& config) {
  require_nccl_for_windows(o);
  if (o.device == "cuda") {
    require_supported(program, true);  // before it is said that there is no GPU
    config.measure_margin = false;  // it would read every router's logits
    config.captures_graphs = true;
    config.on_message = [](Rank rank, const std::string& text) {
      fmt::print(stderr, "rank {}: {}\n", rank.value, text);
    };
    config.make_device = [gpus = usable_gpus(), o](Rank rank) { return gpu_of(rank, gpus, o); };
    return;
  }
  if (o.any_order_attention) {
    throw_config_error(ExitCode::bad_request, "--any-order-attention", "",
                       "the CPU's kernels have one order of sums", "--device cuda");
  }
  if (o.collectives == "direct" && !o.ordered_sums) return;
  throw_config_error(ExitCode::bad_request, o.ordered_sums ? "--ordered-sums" : "--collectives", "",
                     "NCCL joins GPUs", "--device cuda");
}

void connect_devices(const DeviceOptions& o, JobPart& part) {
  if (o.device == "cuda" && part.ranks().front()->rank().value == 0) {
    for (const auto& [name, unused] : kGpuVariables) {
      fmt::print(stderr, "{}={}\n", name, environment_variable(name).value_or("(not set)"));
    }
    fmt::print(stderr, "{}\n", gpu_library().library_line());
  }
  if (o.collectives != "nccl") return;
  try {
    part.use_nccl(load_nccl(), {.ordered_sums = o.ordered_sums,
                                .windows = o.symmetric_windows,
                                .say = print_once});
  } catch (const std::runtime_error& e) {
    throw_config_error(ExitCode::device_or_io, "--collectives", "", e.what(),
                       "install NCCL (libnccl2), or --collectives direct");
  }
}

}  // namespace pleat
