// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Device memory for NCCL: how it is allocated, and the symmetric windows that use it.
#pragma once

#include "backend/comm/communicator.hpp"
#include "backend/comm/nccl_library.hpp"
#include "kernels/device.hpp"

namespace pleat {

// Device memory that NCCL allocates (ncclMemAlloc): what peers can map, which windows need. Whole
// pages of the driver, so a piece should be a large one.

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

// A communicator's symmetric window (ncclCommWindowRegister with NCCL_WIN_COLL_SYMMETRIC): memory
// in which NCCL's collectives may use kernels that read and write the members' own buffers, because
// what one passes lies at the same offset on every member. NCCL takes the members' word for that
// and for their registering the same sizes in the same order, so they compare first. Whatever
// stands in the way is said in a line, and the communicator works without.

class NcclSymmetricWindow {
 public:
  // All must outlive it. `by_host`: the group's.
  NcclSymmetricWindow(Communicator& by_host, Device& device, const NcclJob& job)
      : by_host_(by_host), device_(device), job_(job) {}

  // Whether all members have windows, NCCL's memory, and the same of it. All members call it and
  // get the same answer; their devices are idle afterwards.
  [[nodiscard]] bool agreed(const WindowBuffer&);
  // Registers it on all members, which have agreed, or on none. What NCCL refuses on one member
  // ends the communicator on all: it is aborted and null then, and the next collective makes
  // another.
  [[nodiscard]] bool open(NcclComm&, const WindowBuffer&);
  // Nothing may be under way in it. Null: the communicator was aborted, and the window with it.
  void close(NcclComm) noexcept;

 private:
  template <class T>
  [[nodiscard]] std::vector<T> of_all(const T& mine);
  void say(const std::string& line);

  Communicator& by_host_;
  Device& device_;
  const NcclJob& job_;
  NcclWindow handle_ = nullptr;  // NCCL may write it some time after the call
};

}  // namespace pleat
