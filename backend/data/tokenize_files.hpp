// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Turns text files into documents of tokens, on several threads. The documents keep their order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/data/document_reader.hpp"
#include "backend/data/tokenizer/tokenizer.hpp"

namespace pleat {

struct TokenizeRequest {
  std::vector<std::string> files;
  DocumentKind kind = DocumentKind::automatic;
  std::string json_key = "text";
  std::optional<std::int32_t> end_of_document;  // a token to append to each document
  bool specials = false;                        // put the tokenizer's template around each document
  int jobs = 1;
};

struct TokenizeProgress {
  std::int64_t bytes = 0, bytes_read = 0;  // of all files together
  std::int64_t documents = 0, tokens = 0, empty_documents = 0;
};

// Calls `add` with the tokens of each document, in order and on the calling thread. Calls `report`
// now and then, and at the end. Throws what the reader and `add` throw.
TokenizeProgress tokenize_files(const Tokenizer&, const TokenizeRequest&,
                                const std::function<void(std::span<const std::int32_t>)>& add,
                                const std::function<void(const TokenizeProgress&)>& report = {});

}  // namespace pleat
