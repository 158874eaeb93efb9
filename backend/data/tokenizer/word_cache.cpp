// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenizer/word_cache.hpp"

#include <cstring>

namespace pleat {
namespace {

constexpr std::size_t kMostSlots = std::size_t{1} << 20;

std::uint64_t hash_of(std::string_view word) {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ULL;
  std::uint64_t h = word.size() * kMix;
  std::size_t at = 0;
  for (; at + 8 <= word.size(); at += 8) {
    std::uint64_t part = 0;
    std::memcpy(&part, word.data() + at, 8);
    h = (h ^ part) * kMix;
    h ^= h >> 32U;
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, word.data() + at, word.size() - at);
  h = (h ^ rest) * kMix;
  return h ^ h >> 32U;
}

}  // namespace

std::span<const std::int32_t> WordCache::find(std::string_view word) const {
  const std::uint64_t hash = hash_of(word);
  for (std::size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[i];
    if (slot.token_count == 0) return {};
    if (slot.hash == hash && std::string_view(keys_).substr(slot.key, slot.key_size) == word) {
      return {tokens_.data() + slot.tokens, slot.token_count};
    }
  }
}

void WordCache::insert(const Slot& slot) {
  std::size_t i = slot.hash & (slots_.size() - 1);
  while (slots_[i].token_count != 0) i = (i + 1) & (slots_.size() - 1);
  slots_[i] = slot;
}

void WordCache::resize(std::size_t slots) {
  std::vector<Slot> old(slots);
  std::swap(old, slots_);
  for (const Slot& slot : old) {
    if (slot.token_count != 0) insert(slot);
  }
}

void WordCache::put(std::string_view word, std::span<const std::int32_t> tokens) {
  if (2 * used_ >= slots_.size()) {
    if (slots_.size() < kMostSlots) {
      resize(2 * slots_.size());
    } else {
      slots_.assign(slots_.size(), {});
      used_ = 0;
      keys_.clear();
      tokens_.clear();
    }
  }
  ++used_;
  insert({hash_of(word), static_cast<std::uint32_t>(keys_.size()),
          static_cast<std::uint32_t>(tokens_.size()), static_cast<std::uint16_t>(word.size()),
          static_cast<std::uint16_t>(tokens.size())});
  keys_ += word;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

}  // namespace pleat
