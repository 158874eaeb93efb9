// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A Hugging Face tokenizer with a BPE model, and its memory of words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/data/tokenizer/added_tokens.hpp"
#include "backend/data/tokenizer/bpe.hpp"
#include "backend/data/tokenizer/decoder.hpp"
#include "backend/data/tokenizer/normalizer.hpp"
#include "backend/data/tokenizer/pre_tokenizer.hpp"
#include "backend/data/tokenizer/tokenizer.hpp"

namespace pleat {

// Tokens of words that came before: natural text repeats its words.

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

// The parts of a Hugging Face tokenizer with a BPE model, put together.

struct BpeTokenizerSpec {
  BpeSpec model;
  bool byte_level = false;  // words reach the model as bytes in GPT-2's alphabet
  std::vector<NormalizeStep> normalizer;
  std::vector<PreTokenizeStep> pre_tokenizer;
  std::vector<AddedToken> added;
  std::vector<std::int32_t> before, after;  // what the template puts around one sequence
  std::vector<DecodeStep> decoder;
  std::optional<std::string> end_of_document;
};

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(BpeTokenizerSpec, const std::string& where);

  [[nodiscard]] std::unique_ptr<Encoder> encoder() const override;
  [[nodiscard]] std::string decode(std::span<const std::int32_t>) const override;
  [[nodiscard]] std::optional<std::int32_t> id(std::string_view token) const override;
  [[nodiscard]] std::int32_t vocab_size() const override;
  [[nodiscard]] std::optional<std::int32_t> end_of_document() const override;

  [[nodiscard]] const BpeTokenizerSpec& spec() const { return spec_; }
  [[nodiscard]] const Bpe& model() const { return model_; }
  [[nodiscard]] const AddedTokens& raw_tokens() const { return raw_; }
  [[nodiscard]] const AddedTokens& normalized_tokens() const { return normalized_; }

 private:
  BpeTokenizerSpec spec_;
  Bpe model_;
  AddedTokens raw_, normalized_;
};

}  // namespace pleat
