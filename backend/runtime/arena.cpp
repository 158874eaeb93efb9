// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/runtime/arena.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/diagnostics.hpp"
#include "kernels/host_device.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace pleat {
namespace {

// Where cudaMalloc's memory would begin, which libraries count on.
constexpr std::int64_t kUnit = 256;
// Small tensors share a segment; larger segments are whole pages of a GPU.
constexpr std::int64_t kLeastSegment = std::int64_t{1} << 21U;

constexpr std::int64_t in_units(std::int64_t bytes, std::int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// What a block takes of its segment.
std::int64_t room_of(std::int64_t bytes) {
  return in_units(std::max<std::int64_t>(bytes, 1), kUnit);
}

// Segments are rounded up to eighths of a power of two, so that routed tensors, whose size changes
// with every microbatch, find room in those of before.
std::int64_t segment_of(std::int64_t room, bool own) {
  const auto wanted = static_cast<std::uint64_t>(room);
  const auto eighth = static_cast<std::int64_t>(std::bit_floor(wanted) / 8);
  const std::int64_t rounded = in_units(room, std::max(kUnit, eighth));
  return own ? in_units(rounded, kLeastSegment) : rounded;
}

// For AddressSanitizer: of the host's segments only what tensors have may be touched.
void allow([[maybe_unused]] const Memory& of, [[maybe_unused]] const std::byte* data,
           [[maybe_unused]] std::int64_t bytes, [[maybe_unused]] bool allowed) {
#ifdef __SANITIZE_ADDRESS__
  if (&of != &plain_memory()) return;
  const auto size = static_cast<std::size_t>(bytes);
  allowed ? __asan_unpoison_memory_region(data, size) : __asan_poison_memory_region(data, size);
#endif
}

}  // namespace

Block::~Block() {
  if (arena_ != nullptr) arena_->release(*this);
}

Arena::Arena(bool poison) : Arena(plain_memory(), poison) {}

Arena::~Arena() {
  PLEAT_ASSERT(live_ == 0);  // a block outlived the arena
  for (Pool& pool : pools_) {
    for (std::byte* segment : pool.segments) pool.memory->release(segment);
  }
}

std::size_t Arena::pool_of(Memory& memory, bool apart) {
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    if (pools_[i].memory == &memory && pools_[i].apart == apart) return i;
  }
  pools_.push_back({&memory, apart, {}, {}, 0});
  return pools_.size() - 1;
}

// Of the pieces with room the smallest, of equal ones the first.
std::size_t Arena::best_fit(const std::vector<Piece>& free, std::int64_t room) {
  std::size_t best = free.size();
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (free[i].bytes < room || (best < free.size() && free[i].bytes >= free[best].bytes)) continue;
    best = i;
    if (free[i].bytes == room) break;
  }
  return best;
}

Block Arena::allocate(std::int64_t bytes, Memory& of, bool apart) {
  const std::size_t number = pool_of(of, apart);
  Pool& pool = pools_[number];
  const std::int64_t room = room_of(bytes);
  std::size_t at = best_fit(pool.free, room);
  if (at == pool.free.size()) {
    const std::int64_t segment = segment_of(room, &of == &memory_);
    pool.segments.push_back(of.allocate(segment));
    allow(of, pool.segments.back(), segment, false);
    taken_ += segment;
    pool.free.push_back({pool.segments.size() - 1, 0, segment});
  }
  Piece& piece = pool.free[at];
  Block block;
  block.arena_ = this;
  block.pool_ = number;
  block.segment_ = piece.segment;
  block.data_ = pool.segments[piece.segment] + piece.first;
  block.bytes_ = bytes;
  piece.first += room;
  piece.bytes -= room;
  if (piece.bytes == 0) pool.free.erase(pool.free.begin() + static_cast<std::ptrdiff_t>(at));
  ++pool.blocks;
  // There is at most one piece behind each block and one at each segment's begin: what is freed
  // finds room in the list.
  const std::size_t most = pool.blocks + pool.segments.size();
  if (pool.free.capacity() < most) pool.free.reserve(2 * most);
  allow(of, block.data_, bytes, true);
  poison(block);
  live_ += bytes;
  peak_ = std::max(peak_, live_);
  return block;
}

void Arena::release(const Block& block) noexcept {
  Pool& pool = pools_[block.pool_];
  const std::int64_t first = block.data_ - pool.segments[block.segment_];
  Piece freed{block.segment_, first, room_of(block.bytes_)};
  auto next = std::ranges::upper_bound(pool.free, freed, before);
  if (next != pool.free.end() && joins(freed, *next)) {
    freed.bytes += next->bytes;
    next = pool.free.erase(next);
  }
  if (next != pool.free.begin() && joins(*std::prev(next), freed)) {
    std::prev(next)->bytes += freed.bytes;
  } else {
    pool.free.insert(next, freed);
  }
  allow(*pool.memory, block.data_, block.bytes_, false);
  --pool.blocks;
  live_ -= block.bytes_;
}

void Arena::poison(const Block& block) const {
  if (!poison_ || block.data_ == nullptr) return;
  pools_[block.pool_].memory->fill(block.data_, 0xff, block.bytes_);
}

}  // namespace pleat
