// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding: a vocabulary, ranked merges, and the tokens of one word.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pleat {

inline constexpr std::int32_t kMostTokens = 16'777'216;  // ids are an index into a list

// Which pairs of neighbouring tokens merge, into what, and in which order.

struct Merge {
  std::int32_t rank = -1;  // the smallest merges first; -1: the pair does not merge
  std::int32_t token = -1;
};

// Open addressing over one array: looked up several times for each byte of a text.
class MergeTable {
 public:
  // Room for `count` pairs.
  void reserve(std::size_t count);
  // A pair that is there already gets the new merge.
  void set(std::int32_t left, std::int32_t right, Merge);
  [[nodiscard]] Merge find(std::int32_t left, std::int32_t right) const {
    for (std::size_t i = home(left, right);; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.left == left && slot.right == right) return slot.merge;
      if (slot.merge.rank < 0) return {};
    }
  }

  // Merges neighbours until none is left, the smallest rank first, at equal ranks the leftmost.
  // Tokens from `begin` to the end of the list; the list shrinks.
  void apply(std::vector<std::int32_t>& tokens, std::size_t begin) const;

 private:
  struct Slot {
    std::int32_t left = -1, right = -1;
    Merge merge;
  };
  [[nodiscard]] std::size_t home(std::int32_t left, std::int32_t right) const {
    const std::uint64_t key =
        std::uint64_t{static_cast<std::uint32_t>(left)} << 32U | static_cast<std::uint32_t>(right);
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> shift_);
  }
  void apply_to_short(std::int32_t* tokens, std::size_t& count) const;
  void apply_to_long(std::int32_t* tokens, std::size_t& count) const;

  std::vector<Slot> slots_ = std::vector<Slot>(2);
  std::size_t mask_ = 1;
  unsigned shift_ = 63;
};

// Byte pair encoding: a vocabulary, ranked merges, and the tokens of one word.

inline constexpr std::string_view kMark = "\xE2\x96\x81";  // U+2581, for a space before a word

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
using VocabMap = std::unordered_map<std::string, std::int32_t, StringHash, std::equal_to<>>;

// What a tokenizer.json says of the model. Tokens are spelled as in the file.
struct BpeSpec {
  std::vector<std::pair<std::string, std::int32_t>> vocab;
  std::vector<std::pair<std::string, std::string>>
      merges;           // by rank; parts and result in the vocabulary
  std::string unknown;  // token for what is in no vocabulary; empty: it vanishes
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
};

class Bpe {
 public:
  // `byte_level`: words come as bytes, the file spells them in GPT-2's alphabet of printable
  // characters. Otherwise words are UTF-8. Throws ConfigError (bad_file) with the path of the
  // field.
  Bpe(const BpeSpec&, bool byte_level, const std::string& where);

  // Appends the tokens of one word; no merge crosses its ends. Not empty.
  void encode(std::string_view word, std::vector<std::int32_t>& out) const;

  // -1: none. The spelling of the file.
  [[nodiscard]] std::int32_t id(std::string_view token) const;
  [[nodiscard]] const std::string& token(
      std::int32_t id) const;  // empty for a number without token
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }

  // No token and no merge goes from another character to U+2581 (the space of SentencePiece) within
  // a word: texts may be cut there, and the tokens stay the same.
  [[nodiscard]] bool may_cut_before_space_marks() const { return cut_at_marks_; }

 private:
  void add_merges(const BpeSpec&, const std::string& where);
  void units_of(std::string_view word, std::vector<std::int32_t>& out) const;

  VocabMap vocab_;  // file's spelling
  VocabMap words_;  // bytes of whole words, for ignore_merges
  std::vector<std::string> tokens_;
  std::array<std::int32_t, 256> byte_ids_, fallback_ids_;  // of a byte, of "<0x41>"; -1: none
  MergeTable merges_;
  std::int32_t unknown_ = -1;
  bool byte_level_, fuse_unknown_, byte_fallback_, ignore_merges_, cut_at_marks_ = false;
};

}  // namespace pleat
