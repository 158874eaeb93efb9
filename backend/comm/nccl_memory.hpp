// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Device memory that NCCL allocates (ncclMemAlloc): what peers can map, which windows need. Whole
// pages of the driver, so a piece should be a large one.
#pragma once

#include "backend/comm/nccl_job.hpp"
#include "kernels/device.hpp"

namespace pleat {

class NcclMemory final : public Memory {
 public:
  // The device must outlive it.
  NcclMemory(Device& device, const NcclJob& job)
      : device_(device), functions_(job.functions), mapped_(job.mapped) {}

  // The device's own memory, which makes no window, where NCCL has none to give.
  [[nodiscard]] std::byte* allocate(std::int64_t bytes) override;
  // In no window any more; waits for the device's work on the stream in use.
  void release(std::byte* data) noexcept override;
  void fill(std::byte* data, int byte, std::int64_t bytes) override {
    device_.memory().fill(data, byte, bytes);
  }

 private:
  Device& device_;
  std::shared_ptr<const NcclFunctions> functions_;
  std::shared_ptr<std::set<const std::byte*>> mapped_;
};

}  // namespace pleat
