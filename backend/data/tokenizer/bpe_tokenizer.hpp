// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The parts of a Hugging Face tokenizer with a BPE model, put together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/data/tokenizer/added_tokens.hpp"
#include "backend/data/tokenizer/bpe.hpp"
#include "backend/data/tokenizer/decoder.hpp"
#include "backend/data/tokenizer/normalizer.hpp"
#include "backend/data/tokenizer/pre_tokenizer.hpp"
#include "backend/data/tokenizer/tokenizer.hpp"

namespace pleat {

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
