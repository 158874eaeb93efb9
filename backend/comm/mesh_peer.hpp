// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A connection of a mesh, which the parts of the mesh share.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>

#include "backend/comm/mesh.hpp"
#include "backend/comm/message_reader.hpp"

namespace pleat {

struct TcpMesh::Peer {
  RosterEntry who;
  Socket socket;
  std::atomic<std::int64_t> progress = 0;
  // The mesh's thread's.
  std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();
  MessageReader<MeshHeader> receives;
  bool left = false;  // said good-bye
  bool gone = false;  // nothing more will come
  // What the socket did not take at once.
  std::mutex mutex;
  MessageTags sends;
  std::deque<Message> waiting;
  std::size_t first_sent = 0;  // bytes of the first
  bool broken = false;
};

}  // namespace pleat
