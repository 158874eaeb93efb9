// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tokens are bytes.
#include "backend/data/tokenizer/tokenizer.hpp"

namespace pleat {
namespace {

constexpr std::int32_t kEndOfDocument = 0;

class ByteEncoder final : public Encoder {
 public:
  void encode(std::string_view document, bool, std::vector<std::int32_t>& out) override {
    out.reserve(out.size() + document.size());
    for (const char c : document) out.push_back(static_cast<std::uint8_t>(c));
  }
};

class ByteTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] std::unique_ptr<Encoder> encoder() const override {
    return std::make_unique<ByteEncoder>();
  }
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      if (id >= 0 && id < 256) {
        text += static_cast<char>(id);
      } else {
        text += "\xEF\xBF\xBD";
      }
    }
    return text;
  }
  [[nodiscard]] std::optional<std::int32_t> id(std::string_view token) const override {
    if (token.size() != 1) return std::nullopt;
    return static_cast<std::uint8_t>(token[0]);
  }
  [[nodiscard]] std::int32_t vocab_size() const override { return 256; }
  [[nodiscard]] std::optional<std::int32_t> end_of_document() const override {
    return kEndOfDocument;
  }
};

}  // namespace

std::unique_ptr<const Tokenizer> byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace pleat
