// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/job_part.hpp"

#include "backend/comm/message_communicator.hpp"
#include "backend/comm/thread_communicator.hpp"

namespace pleat {

JobPart::~JobPart() {
  ranks_.clear();
  mesh_.reset();
}

void JobPart::use_nccl(const std::shared_ptr<const NcclFunctions>& functions,
                       const NcclSettings& settings) {
  for (auto& rank : ranks_) rank = nccl_transport(std::move(rank), functions, settings);
}

JobPart JobPart::of_threads(int world) {
  JobPart part;
  part.ranks_ = make_thread_transports(world);
  return part;
}

JobPart JobPart::over_tcp(Meeting m, MeshTimes times) {
  return over_wire(std::move(m), nullptr, times);
}

JobPart JobPart::over_wire(Meeting m, MakeWire make_wire, MeshTimes times) {
  const int process = m.process, world = m.world;
  const JobSecret secret = m.secret;
  Met met = meet(std::move(m));
  JobPart part;
  part.server_ = std::move(met.server);
  const RosterEntry& mine = met.roster.processes[static_cast<std::size_t>(process)];
  part.hub_ = std::make_shared<MessageHub>(Rank{mine.first_rank}, mine.ranks);
  part.mesh_ = std::make_unique<TcpMesh>(met.roster, process, std::move(met.mesh_listener), secret,
                                      *part.hub_, times);
  if (make_wire != nullptr) part.wire_ = make_wire(*part.hub_, met.roster, *part.mesh_);
  part.hub_->attach(part.wire_ != nullptr ? part.wire_.get() : part.mesh_.get());
  part.server_.reset();  // all have met
  part.ranks_ = make_message_transports(part.hub_, world);
  return part;
}

}  // namespace pleat
