// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back. A tokenizer is read once and shared; each thread encodes with its own
// encoder, which remembers words.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pleat {

class Encoder {
 public:
  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  virtual ~Encoder() = default;

  // Appends the tokens of a whole document. Bytes that are no UTF-8 are read as U+FFFD, except by
  // the byte tokenizer. `specials`: with the tokens that the tokenizer's template puts around a
  // text (beginning and end of sequence).
  virtual void encode(std::string_view document, bool specials, std::vector<std::int32_t>& out) = 0;
};

class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  // The tokenizer must outlive it.
  [[nodiscard]] virtual std::unique_ptr<Encoder> encoder() const = 0;
  // Special tokens as they are spelled; unknown ids as U+FFFD.
  [[nodiscard]] virtual std::string decode(std::span<const std::int32_t>) const = 0;
  [[nodiscard]] virtual std::optional<std::int32_t> id(std::string_view token) const = 0;
  // One more than the largest id.
  [[nodiscard]] virtual std::int32_t vocab_size() const = 0;
  // The token that ends a document, if the tokenizer's files say so.
  [[nodiscard]] virtual std::optional<std::int32_t> end_of_document() const = 0;
};

// Tokens are bytes, NUL ends a document.
[[nodiscard]] std::unique_ptr<const Tokenizer> byte_tokenizer();

// The text of a tokenizer.json of Hugging Face. Throws ConfigError (bad_file) with the field's path
// for what is wrong or not supported.
[[nodiscard]] std::unique_ptr<const Tokenizer> read_tokenizer(
    const std::string& text, const std::string& file_name,
    std::optional<std::string> end_of_document = std::nullopt);

// "byte", a tokenizer.json of Hugging Face, or a folder with one (and perhaps a
// tokenizer_config.json, which names the end of documents). Throws ConfigError: device_or_io when
// it cannot be read, else what read_tokenizer() throws.
[[nodiscard]] std::unique_ptr<const Tokenizer> open_tokenizer(const std::string& source);

}  // namespace pleat
