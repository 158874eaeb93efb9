// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// List scheduling of two streams, and the attribution of the timeline to rubrics.
#include "simulator/streams.hpp"

#include <algorithm>

namespace pleat {

StreamTimeline run_streams(std::span<const StreamOp> ops) {
  StreamTimeline line;
  line.start.reserve(ops.size());
  Seconds free[2];
  for (const StreamOp& op : ops) {
    Seconds& stream = free[static_cast<std::size_t>(op.stream)];
    Seconds start = stream;
    for (int before : op.after) {
      const auto i = static_cast<std::size_t>(before);
      PLEAT_ASSERT(i < line.start.size());
      start = std::max(start, line.start[i] + ops[i].duration);
    }
    line.start.push_back(start);
    stream = start + op.duration;
  }
  line.end = std::max(free[0], free[1]);

  // At every moment some stream is busy: an op waits only for its stream or for another op.
  // Both streams are in order, so one sweep subtracts compute from communication.
  std::size_t next = 0;  // compute op that may overlap the communication at hand
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Seconds& part = line.parts[static_cast<std::size_t>(ops[i].cls)];
    part += ops[i].duration;
    if (ops[i].stream == Stream::compute) continue;
    const Seconds begin = line.start[i], end = begin + ops[i].duration;
    for (std::size_t j = next; j < ops.size(); ++j) {
      if (ops[j].stream != Stream::compute) continue;
      const Seconds compute_begin = line.start[j], compute_end = compute_begin + ops[j].duration;
      if (compute_end <= begin) {
        next = j + 1;
        continue;
      }
      if (compute_begin >= end) break;
      part -= std::min(end, compute_end) - std::max(begin, compute_begin);
    }
  }
  return line;
}

}  // namespace pleat
