// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Opens what `--data` names: text files, indexed datasets, the Bible, or a blend of them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/data/sample_source.hpp"
#include "backend/data/tokenizer/tokenizer.hpp"

namespace pleat {

struct DataRequest {
  std::string source;              // "A", "A B" or "0.3 A 0.7 B"
  std::string tokenizer = "byte";  // for text files; open_tokenizer takes these words
  std::string split = "1";
  std::string eod = {};              // the token that ends documents; empty: the tokenizer's own
  std::string cache_directory = {};  // for the Bible's text
  std::int64_t vocab = 0;            // of the model; 0: any
};

// Opens one dataset: PREFIX of PREFIX.idx and PREFIX.bin, "bible", or a text file (in a .jsonl file
// each line has a document in "text"). Documents of text get `eod` at their end, and their tokens
// must be below `vocab` unless that is 0. Throws ConfigError.
[[nodiscard]] std::shared_ptr<const Documents> open_documents(const std::string& source,
                                                              const Tokenizer&,
                                                              std::optional<std::int32_t> eod,
                                                              const std::string& cache_directory,
                                                              std::int64_t vocab);

// The token that ends documents. `eod` is how the tokenizer spells it; empty: the tokenizer's own,
// if it has one. Throws ConfigError (bad_request) if `eod` is no token.
[[nodiscard]] std::optional<std::int32_t> end_of_document(const std::string& eod, const Tokenizer&);

struct TrainingData {
  std::shared_ptr<const SampleSource> samples;
  std::optional<std::int32_t> end_of_document;  // of `eod`, or the tokenizer's own
};

// Opens all that the request names, as one source of samples. `split` gives request.shares.
[[nodiscard]] TrainingData open_training_data(const DataRequest&, SampleRequest);

}  // namespace pleat
