// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tokens of words that came before: natural text repeats its words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pleat {

class WordCache {
 public:
  // Words longer than this are not kept.
  static constexpr std::size_t kLongestWord = 64;

  // The tokens that put() got, or nothing. Valid until the next put().
  [[nodiscard]] std::span<const std::int32_t> find(std::string_view word) const;
  // Forgets everything when it is full. The word must not be there, nor its tokens be empty.
  void put(std::string_view word, std::span<const std::int32_t> tokens);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t key = 0, tokens = 0;            // where they begin
    std::uint16_t key_size = 0, token_count = 0;  // 0 tokens: an empty slot
  };
  void insert(const Slot&);
  void resize(std::size_t slots);

  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  std::size_t used_ = 0;
  std::string keys_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace pleat
