// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One process's part of a job: a transport for each rank that lives here, and the other processes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/comm/mesh.hpp"
#include "backend/comm/nccl_communicator.hpp"
#include "backend/comm/rendezvous.hpp"

namespace pleat {

class JobPart {
 public:
  // All ranks in this process.
  [[nodiscard]] static JobPart of_threads(int world);
  // Meets the other processes, as meet() and Mesh do; throws what they throw.
  [[nodiscard]] static JobPart over_tcp(Meeting, MeshTimes = {});
  // Messages over a wire of the caller's, which may be attached to the hub only by this; the mesh
  // stays beside it and tells who is lost.
  using MakeWire = std::unique_ptr<Wire> (*)(MessageHub&, const Roster&, TcpMesh&);
  [[nodiscard]] static JobPart over_wire(Meeting, MakeWire, MeshTimes = {});

  // The same ranks, with NCCL between their devices; each needs one of its own.
  void use_nccl(const std::shared_ptr<const NcclFunctions>&, const NcclSettings& = {});

  JobPart(JobPart&&) = default;
  ~JobPart();

  [[nodiscard]] const std::vector<std::unique_ptr<Transport>>& ranks() const { return ranks_; }
  [[nodiscard]] Peers* peers() const { return mesh_.get(); }  // null: no other process

 private:
  JobPart() = default;
  std::unique_ptr<StoreServer> server_;
  std::shared_ptr<MessageHub> hub_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<TcpMesh> mesh_;  // its thread uses the wire
  std::vector<std::unique_ptr<Transport>> ranks_;
};

}  // namespace pleat
