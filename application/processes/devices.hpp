// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What ranks compute on: this machine's CPU, or NVIDIA GPUs where the CUDA kernels are built.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/trainer.hpp"

namespace pleat {

struct DeviceOptions {
  std::string device = "cpu";          // or "cuda"
  std::string collectives = "direct";  // between GPUs: "direct" through memory, or "nccl"
  bool ordered_sums = false;           // NcclSettings
  bool symmetric_windows = false;      // NcclSettings::windows
  bool any_order_attention = false;    // not CudaOptions::deterministic_attention
};

// ConfigError (bad_request) for windows without NCCL between GPUs.
void require_nccl_for_windows(const DeviceOptions&);

// With "cuda" rank r takes GPU r, over again where there are more ranks than GPUs. ConfigError:
// bad_request without the CUDA kernels, for what the device has not, for NCCL on a CPU and windows
// without it, device_or_io where no GPU can be used.
void set_device(const DeviceOptions&, const Program&, TrainConfig&);

// The GPUs that this process can use. ConfigError: bad_request without the CUDA kernels,
// device_or_io where there is none.
[[nodiscard]] int usable_gpus();
// A device for each rank of `part`, as training gives them.
[[nodiscard]] std::vector<std::unique_ptr<Device>> gpus_of(const JobPart& part);

// What all processes of a job must have in common of these, in a word (no blanks) for its
// fingerprint.
[[nodiscard]] std::string joined_text(const DeviceOptions&);

// What joins this process's ranks on their devices. The process of rank 0 says on stderr how CUDA's
// and NCCL's variables are set, which usable_gpus sets where the user has not, and which libraries
// its kernels have; every process, of which groups it knows that they have symmetric windows or why
// not. ConfigError
// (device_or_io) where NCCL is not found.
void connect_devices(const DeviceOptions&, JobPart&);

}  // namespace pleat
