// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenizer/bpe_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/diagnostics.hpp"

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

namespace {

AddedTokens tokens_where(const BpeTokenizerSpec& spec, bool normalized) {
  std::vector<AddedToken> tokens;
  std::vector<std::string> contents;
  for (const AddedToken& t : spec.added) {
    if (t.normalized != normalized) continue;
    tokens.push_back(t);
    contents.push_back(t.content);
    if (normalized) apply_normalizer(spec.normalizer, contents.back());
  }
  return {std::move(tokens), std::move(contents)};
}

class BpeEncoder final : public Encoder {
 public:
  explicit BpeEncoder(const BpeTokenizer& tokenizer) : t_(tokenizer) {}

  void encode(std::string_view document, bool specials, std::vector<std::int32_t>& out) override {
    const BpeTokenizerSpec& spec = t_.spec();
    if (specials) out.insert(out.end(), spec.before.begin(), spec.before.end());
    const std::string_view text = valid_utf8(document, repaired_);
    t_.raw_tokens().split(text, raw_sections_);
    for (const Section& s : raw_sections_) {
      if (s.id >= 0) {
        out.push_back(s.id);
      } else {
        encode_section(text.substr(s.begin, s.end - s.begin), s.begin == 0, out);
      }
    }
    if (specials) out.insert(out.end(), spec.after.begin(), spec.after.end());
  }

 private:
  void encode_section(std::string_view text, bool at_start, std::vector<std::int32_t>& out) {
    if (!t_.spec().normalizer.empty()) {
      normalized_ = text;
      apply_normalizer(t_.spec().normalizer, normalized_);
      text = normalized_;
    }
    t_.normalized_tokens().split(text, sections_);
    for (const Section& s : sections_) {
      if (s.id >= 0) {
        out.push_back(s.id);
        continue;
      }
      pieces_.list.assign(1, text.substr(s.begin, s.end - s.begin));
      pieces_.changed.clear();
      pieces_.at_start = at_start && s.begin == 0;
      apply_pre_tokenizer(t_.spec().pre_tokenizer, pieces_);
      for (const std::string_view piece : pieces_.list) encode_piece(piece, out);
    }
  }

  // A long piece may be a whole document: SentencePiece's tokenizers do not cut at spaces.
  void encode_piece(std::string_view piece, std::vector<std::int32_t>& out) {
    if (piece.size() <= WordCache::kLongestWord || !t_.model().may_cut_before_space_marks()) {
      return encode_word(piece, out);
    }
    std::size_t begin = 0;
    while (begin < piece.size()) {
      std::size_t end = begin;  // marks, then what is none
      while (piece.substr(end).starts_with(kMark)) end += kMark.size();
      end = std::min(piece.find(kMark, end), piece.size());
      encode_word(piece.substr(begin, end - begin), out);
      begin = end;
    }
  }

  void encode_word(std::string_view word, std::vector<std::int32_t>& out) {
    if (word.size() > WordCache::kLongestWord) return t_.model().encode(word, out);
    if (const auto known = cache_.find(word); !known.empty()) {
      out.insert(out.end(), known.begin(), known.end());
      return;
    }
    const std::size_t begin = out.size();
    t_.model().encode(word, out);
    if (out.size() > begin) cache_.put(word, {out.data() + begin, out.size() - begin});
  }

  const BpeTokenizer& t_;
  WordCache cache_;
  std::string repaired_, normalized_;
  std::vector<Section> raw_sections_, sections_;
  Pieces pieces_;
};

}  // namespace

BpeTokenizer::BpeTokenizer(BpeTokenizerSpec spec, const std::string& where)
    : spec_(std::move(spec)),
      model_(spec_.model, spec_.byte_level, where),
      raw_(tokens_where(spec_, false)),
      normalized_(tokens_where(spec_, true)) {
  spec_.model = {};  // the model has its own form of it
  for (const auto* const around : {&spec_.before, &spec_.after}) {
    for (const std::int32_t id : *around) {
      if (id < vocab_size()) continue;
      throw_config_error(
          ExitCode::bad_file, where, "post_processor",
          fmt::format("puts token {} around a text, which the vocabulary does not have", id),
          fmt::format("ids from 0 to {}", vocab_size() - 1));
    }
  }
}

std::unique_ptr<Encoder> BpeTokenizer::encoder() const {
  return std::make_unique<BpeEncoder>(*this);
}

std::string BpeTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::vector<std::string> tokens;
  for (const std::int32_t id : ids) {
    const auto added = std::find_if(spec_.added.begin(), spec_.added.end(),
                                    [id](const AddedToken& t) { return t.id == id; });
    const std::string& spelling = added != spec_.added.end() ? added->content : model_.token(id);
    tokens.push_back(spelling.empty() ? "\xEF\xBF\xBD" : spelling);
  }
  return decode_tokens(spec_.decoder, std::move(tokens));
}

std::optional<std::int32_t> BpeTokenizer::id(std::string_view token) const {
  for (const AddedToken& t : spec_.added)
    if (t.content == token) return t.id;
  const std::int32_t id = model_.id(token);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::int32_t BpeTokenizer::vocab_size() const {
  std::int32_t size = model_.size();
  for (const AddedToken& t : spec_.added) size = std::max(size, t.id + 1);
  return size;
}

std::optional<std::int32_t> BpeTokenizer::end_of_document() const {
  if (!spec_.end_of_document) return std::nullopt;
  return id(*spec_.end_of_document);
}

}  // namespace pleat
