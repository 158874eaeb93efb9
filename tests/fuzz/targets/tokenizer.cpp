// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// tokenizer.json: an accepted tokenizer encodes a text and decodes what came of it.
#include "backend/data/tokenizer/tokenizer.hpp"

#include <vector>

#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::json;

void run(std::string_view input) {
  const auto tokenizer = read_tokenizer(std::string(input), "tokenizer.json");
  const auto encoder = tokenizer->encoder();
  std::vector<std::int32_t> tokens;
  encoder->encode("In the beginning: 12345 caf\xC3\xA9 \xE6\x97\xA5\n\n\xFF  <s>don't", true,
                  tokens);
  for (const std::int32_t t : tokens)
    require(t >= 0 && t < tokenizer->vocab_size(), "a token outside the vocabulary");
  (void)tokenizer->decode(tokens);
}

}  // namespace pleat::fuzz
