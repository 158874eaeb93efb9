// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the parts of a mesh share: the header of every message on its connections, and a connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>

#include "backend/comm/mesh.hpp"

namespace pleat {

enum class TcpMesh::Kind : std::uint32_t { message = 1, beat, abort, ask, answer, bye };

struct TcpMesh::Header {
  Kind kind = Kind::beat;
  std::int32_t from = 0, to = 0;  // ranks
  std::uint32_t reserved = 0;     // so that no byte is padding: the tags cover them all
  Label label;
  std::uint64_t bytes = 0;
};
static_assert(std::has_unique_object_representations_v<Label>);

// What goes before a payload.
struct TcpMesh::Opening {
  Header header;
  Tags tags;
};

struct TcpMesh::Peer {
  RosterEntry who;
  Socket socket;
  MessageTags receives;  // the mesh's thread's
  std::atomic<std::int64_t> progress = 0;
  // The mesh's thread's.
  std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();
  Opening opening;
  std::size_t opening_read = 0, payload_read = 0;
  Message payload;
  bool left = false;  // said good-bye
  bool gone = false;  // nothing more will come
  // What the socket did not take at once.
  std::mutex mutex;
  MessageTags sends;
  std::deque<Message> waiting;
  std::size_t first_sent = 0;  // bytes of the first
  bool broken = false;
};

// "rank<tab>where" a line, as processes tell each other.
[[nodiscard]] std::string to_lines(const std::vector<RankWhere>&);
void read_lines(const std::string& text, std::vector<RankWhere>& to);

}  // namespace pleat
