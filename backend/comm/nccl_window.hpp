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
// in which NCCL's collectives may read and write the members' own buffers, because a buffer lies at
// the same offset on every member. NCCL does not check that, nor that members register the same
// sizes in the same order, so the members compare these first. If there can be no window, a line
// says why, and the communicator works without.

class NcclSymmetricWindow {
 public:
  // All must outlive it. `by_host`: the group's.
  NcclSymmetricWindow(Communicator& by_host, Device& device, const NcclJob& job)
      : by_host_(by_host), device_(device), job_(job) {}

  // Whether all members support windows and pass memory of NCCL with the same layout. All members
  // call it and get the same answer. Their devices are idle afterwards.
  [[nodiscard]] bool agreed(const WindowBuffer&);
  // After agreed(): registers the buffer on all members or on none. If NCCL refuses on one member,
  // all abort the communicator and set it to null; the next collective makes a new one.
  [[nodiscard]] bool open(NcclComm&, const WindowBuffer&);
  // No collective may be running in it. Null: the communicator was aborted, and the window with it.
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
