// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The memory of one rank's step. Counts the bytes that were asked for, live and at their highest;
// it is told nothing about what the memory model predicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "kernels/device.hpp"

namespace pleat {

class Arena;

// Owns one allocation; gives it back on destruction. Must not outlive its arena.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept { swap(other); }
  Block& operator=(Block&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Block();
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  friend class Arena;
  void swap(Block& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  Arena* arena_ = nullptr;
  Memory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

class Arena {
 public:
  // The memory must outlive the arena.
  Arena(Memory& memory, bool poison) : memory_(memory), poison_(poison) {}
  explicit Arena(bool poison);  // of the host
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // 64-byte aligned. Contents are unspecified, or NaN (every bit set) when the arena poisons.
  [[nodiscard]] Block allocate(std::int64_t bytes) { return allocate(bytes, memory_); }
  // Of another memory, which must outlive the arena, too. Counted alike, and reused by itself.
  [[nodiscard]] Block allocate(std::int64_t bytes, Memory& of);
  void poison(const Block&);  // if it poisons
  [[nodiscard]] std::int64_t live() const { return live_; }  // requested bytes not yet given back
  [[nodiscard]] std::int64_t peak() const { return peak_; }
  // What it has from the memory: live and freed blocks, at their capacity. It gives nothing back.
  [[nodiscard]] std::int64_t taken() const { return taken_; }

 private:
  friend class Block;
  void release(Memory& of, std::byte* data, std::int64_t bytes) noexcept;

  Memory& memory_;
  bool poison_ = false;
  std::int64_t live_ = 0, peak_ = 0, taken_ = 0;
  // Freed memory by where it is from and capacity, reused so that a step does not go back to the
  // system for its tensors. Heaps whose top is the lowest address: a step that allocates as the one
  // before gets the same ones.
  std::map<std::pair<Memory*, std::int64_t>, std::vector<std::byte*>> free_;
};

}  // namespace pleat
