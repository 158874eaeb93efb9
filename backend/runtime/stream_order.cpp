// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/runtime/stream_order.hpp"

#include <algorithm>
#include <utility>

namespace pleat {
namespace {

// More than that are looked at for every operation no longer.
constexpr std::size_t kMostUses = 1024;

std::int64_t byte_size(View v) { return bytes_of(v.dtype, v.elements()); }

}  // namespace

void StreamOrder::add(const void* data, std::int64_t bytes, bool writes) {
  if (data == nullptr || bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  mine_.push_back({begin, begin + static_cast<std::uintptr_t>(bytes), writes, stream_, 0});
}

void StreamOrder::begin(int stream, std::span<const View> in, std::span<const View> out,
                        const void* shared) {
  stream_ = stream;
  mine_.clear();
  for (const View& v : in) add(v.data, byte_size(v), false);
  for (const View& v : out) add(v.data, byte_size(v), true);
  if (shared != nullptr) add(shared, 1, true);
  const std::uint64_t before = stream == 0 ? 0 : device_.mark();
  device_.take_stream(stream);
  if (stream != 0) device_.wait_for(0, before);
  wait_for_users();
}

// Of each other stream for the latest work that shares memory with this operation, where one of the
// two writes.
void StreamOrder::wait_for_users() {
  marks_.clear();
  for (const Use& u : under_way_) {
    const bool meets = u.stream != stream_ && std::ranges::any_of(mine_, [&](const Use& m) {
                         return m.begin < u.end && u.begin < m.end && (m.writes || u.writes);
                       });
    if (!meets) continue;
    const auto at = static_cast<std::size_t>(u.stream);
    if (marks_.size() <= at) marks_.resize(at + 1);
    marks_[at] = std::max(marks_[at], u.mark);
  }
  for (std::size_t s = 0; s < marks_.size(); ++s) {
    if (marks_[s] == 0) continue;
    device_.wait_for(static_cast<int>(s), marks_[s]);
    if (stream_ == 0) forget(static_cast<int>(s), marks_[s]);
  }
}

void StreamOrder::forget(int stream, std::uint64_t mark) {
  std::erase_if(under_way_, [&](const Use& u) { return u.stream == stream && u.mark <= mark; });
}

void StreamOrder::end() {
  if (stream_ == 0) return;
  const std::uint64_t mark = device_.mark();
  for (Use u : mine_) {
    u.mark = mark;
    under_way_.push_back(u);
  }
  stream_ = 0;
  device_.take_stream(0);
  if (under_way_.size() > kMostUses) join();
}

void StreamOrder::give_up() {
  if (std::exchange(stream_, 0) != 0) device_.take_stream(0);
}

void StreamOrder::join() {
  marks_.clear();
  for (const Use& u : under_way_) {
    const auto at = static_cast<std::size_t>(u.stream);
    if (marks_.size() <= at) marks_.resize(at + 1);
    marks_[at] = std::max(marks_[at], u.mark);
  }
  for (std::size_t s = 0; s < marks_.size(); ++s) {
    if (marks_[s] > 0) device_.wait_for(static_cast<int>(s), marks_[s]);
  }
  under_way_.clear();
}

}  // namespace pleat
