// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A rank by itself that notes what it would have exchanged. No data arrives: what others would have
// sent is what this rank has itself (gathers, reductions) or zeros.
#pragma once

#include <memory>
#include <vector>

#include "backend/comm/communicator.hpp"

namespace pleat {

struct CommCall {
  enum class Kind { barrier, all_gather, all_reduce, reduce_scatter, all_to_all, send, recv };
  Kind kind = Kind::barrier;
  std::vector<Rank> members;
  // all_gather: the piece of each member; all_reduce: the data; reduce_scatter: of all members;
  // all_to_all: what this rank sends; send, recv: the message.
  std::int64_t bytes = 0;
  int peer = -1, tag = 0;  // send, recv: the other member
  bool operator==(const CommCall&) const = default;
};

// `calls` gets every call of every communicator in order, and must outlive the transport.
[[nodiscard]] std::unique_ptr<Transport> make_recording_transport(Rank, int world,
                                                                  std::vector<CommCall>& calls);

}  // namespace pleat
