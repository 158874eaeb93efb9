// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/runtime/arena.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "core/diagnostics.hpp"
#include "kernels/host_device.hpp"

namespace pleat {
namespace {

// Sizes are rounded up to eighths of a power of two, so that routed tensors, whose size changes
// with every microbatch, find a freed block to reuse. Only requested bytes are counted.
std::int64_t capacity_of(std::int64_t bytes) {
  const auto wanted = static_cast<std::uint64_t>(bytes < 64 ? 64 : bytes);
  const std::uint64_t step = std::max<std::uint64_t>(64, std::bit_floor(wanted) / 8);
  return static_cast<std::int64_t>((wanted + step - 1) / step * step);
}

}  // namespace

Block::~Block() {
  if (arena_ != nullptr) arena_->release(*memory_, data_, bytes_);
}

Arena::Arena(bool poison) : Arena(plain_memory(), poison) {}

Arena::~Arena() {
  PLEAT_ASSERT(live_ == 0);  // a block outlived the arena
  for (auto& [kind, list] : free_) {
    for (std::byte* data : list) kind.first->release(data);
  }
}

Block Arena::allocate(std::int64_t bytes, Memory& of) {
  PLEAT_ASSERT(bytes >= 0);
  const std::int64_t capacity = capacity_of(bytes);
  auto& list = free_[{&of, capacity}];
  Block block;
  if (list.empty()) {
    block.data_ = of.allocate(capacity);
    taken_ += capacity;
  } else {
    std::ranges::pop_heap(list, std::greater{});
    block.data_ = list.back();
    list.pop_back();
  }
  block.arena_ = this;
  block.memory_ = &of;
  block.bytes_ = bytes;
  if (poison_) of.fill(block.data_, 0xff, bytes);
  live_ += bytes;
  if (live_ > peak_) peak_ = live_;
  return block;
}

void Arena::poison(const Block& block) {
  if (poison_ && block.data_ != nullptr) block.memory_->fill(block.data_, 0xff, block.bytes_);
}

void Arena::release(Memory& of, std::byte* data, std::int64_t bytes) noexcept {
  // allocate() made the list's entry; growing it again can only fail when memory is exhausted.
  auto& list = free_[{&of, capacity_of(bytes)}];
  list.push_back(data);
  std::ranges::push_heap(list, std::greater{});
  live_ -= bytes;
}

}  // namespace pleat
