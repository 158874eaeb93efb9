// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The memory of one rank's step. Counts the bytes that were asked for, live and at their highest;
// it is told nothing about what the memory model predicts. It takes segments and cuts blocks from
// them; what is freed joins its free neighbours, so that tensors of other sizes find room there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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
  [[nodiscard]] std::span<std::byte> room() const {
    return {data_, static_cast<std::size_t>(bytes_)};
  }

 private:
  friend class Arena;
  void swap(Block& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(pool_, other.pool_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(segment_, other.segment_);
  }
  Arena* arena_ = nullptr;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::size_t pool_ = 0, segment_ = 0;  // of the arena, of the pool
};

class Arena {
 public:
  // The memory must outlive the arena.
  Arena(Memory& memory, bool poison) : memory_(memory), poison_(poison) {}
  explicit Arena(bool poison);  // of the host
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Begins at a multiple of 256 bytes of its segment. Contents are unspecified, or NaN (every bit
  // set) when the arena poisons.
  // `apart`: from segments of their own, so that sizes that change from step to step leave the
  // places of all others as they are.
  [[nodiscard]] Block allocate(std::int64_t bytes, bool apart = false) {
    return allocate(bytes, memory_, apart);
  }
  // Of another memory, which must outlive the arena, too. Counted alike, and reused by itself.
  [[nodiscard]] Block allocate(std::int64_t bytes, Memory& of, bool apart = false);
  void poison(const Block&) const;  // once more, if it poisons
  [[nodiscard]] std::int64_t live() const { return live_; }  // requested bytes not yet given back
  [[nodiscard]] std::int64_t peak() const { return peak_; }
  // What it has from the memory: its segments. It gives nothing back.
  [[nodiscard]] std::int64_t taken() const { return taken_; }

 private:
  friend class Block;
  // A free part of a segment. Pieces are in the order of segments, these in that of their coming:
  // where memory lies decides nothing, so that a rehearsal takes as much.
  struct Piece {
    std::size_t segment = 0;
    std::int64_t first = 0, bytes = 0;
  };
  [[nodiscard]] static bool before(const Piece& a, const Piece& b) {
    return std::pair(a.segment, a.first) < std::pair(b.segment, b.first);
  }
  [[nodiscard]] static bool joins(const Piece& a, const Piece& b) {
    return a.segment == b.segment && a.first + a.bytes == b.first;
  }
  // What it has of one memory for one purpose.
  struct Pool {
    Memory* memory = nullptr;
    bool apart = false;
    std::vector<std::byte*> segments;
    std::vector<Piece> free;
    std::size_t blocks = 0;  // live
  };
  [[nodiscard]] static std::size_t best_fit(const std::vector<Piece>& free, std::int64_t room);
  [[nodiscard]] std::size_t pool_of(Memory&, bool apart);
  void release(const Block&) noexcept;

  Memory& memory_;
  bool poison_ = false;
  std::int64_t live_ = 0, peak_ = 0, taken_ = 0;
  std::vector<Pool> pools_;
};

}  // namespace pleat
