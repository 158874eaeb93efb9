// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/training_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backend/data/document_reader.hpp"
#include "backend/data/indexed_dataset.hpp"
#include "backend/data/tokenize_files.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

// "prefix", "prefix.bin" and "prefix.idx" all mean the same.
std::string prefix_of(const std::string& source) {
  for (const char* suffix : {".bin", ".idx"}) {
    if (source.ends_with(suffix) && is_indexed_prefix(source.substr(0, source.size() - 4)))
      return source.substr(0, source.size() - 4);
  }
  return source;
}

std::shared_ptr<const MemoryDocuments> tokenized(const std::string& source,
                                                 const Tokenizer& tokenizer,
                                                 std::optional<std::int32_t> eod) {
  auto documents = std::make_shared<MemoryDocuments>(source);
  TokenizeRequest request;
  request.files = {source};
  request.end_of_document = eod;
  tokenize_files(tokenizer, request,
                 [&](std::span<const std::int32_t> tokens) { documents->add(tokens); });
  if (documents->lengths().empty()) {
    throw_config_error(ExitCode::bad_file, source, "", "is empty",
                       "a file of training text, or a prefix of .bin and .idx");
  }
  return documents;
}

std::shared_ptr<const MemoryDocuments> bible(const Tokenizer& tokenizer,
                                             std::optional<std::int32_t> eod,
                                             const std::string& cache_directory) {
  auto documents = std::make_shared<MemoryDocuments>("bible");
  const std::vector<std::uint8_t> text = default_text(cache_directory);
  std::vector<std::int32_t> tokens;
  tokenizer.encoder()->encode({reinterpret_cast<const char*>(text.data()), text.size()}, false,
                              tokens);
  if (eod) tokens.push_back(*eod);
  documents->add(tokens);
  return documents;
}

// Tokens in memory are checked before the first step; those of files when they are read.
void check_vocabulary(const MemoryDocuments& documents, std::int64_t vocab) {
  std::vector<std::int32_t> tokens;
  for (std::size_t d = 0; d < documents.lengths().size(); ++d) {
    tokens.resize(static_cast<std::size_t>(documents.lengths()[d]));
    documents.read(static_cast<std::int64_t>(d), 0, tokens);
    const auto largest = std::max_element(tokens.begin(), tokens.end());
    if (largest == tokens.end() || *largest < vocab) continue;
    throw_config_error(
        ExitCode::bad_file, documents.name(), "",
        fmt::format("token {} of document {} is {}: not in the vocabulary of {} tokens",
                    largest - tokens.begin(), d, *largest, vocab),
        "the model's own tokenizer (--tokenizer), or a model with a larger vocab_size");
  }
}

}  // namespace

std::shared_ptr<const Documents> open_documents(const std::string& source,
                                                const Tokenizer& tokenizer,
                                                std::optional<std::int32_t> eod,
                                                const std::string& cache_directory,
                                                std::int64_t vocab) {
  const std::string prefix = prefix_of(source);
  std::error_code ignored;
  if (is_indexed_prefix(prefix)) return std::make_shared<IndexedDataset>(prefix);
  const bool is_bible = source == "bible" && !fs::exists(source, ignored);
  const auto documents =
      is_bible ? bible(tokenizer, eod, cache_directory) : tokenized(source, tokenizer, eod);
  if (vocab > 0) check_vocabulary(*documents, vocab);
  return documents;
}

std::optional<std::int32_t> end_of_document(const std::string& eod, const Tokenizer& tokenizer) {
  if (eod.empty()) return tokenizer.end_of_document();
  if (const auto id = tokenizer.id(eod)) return id;
  throw_config_error(ExitCode::bad_request, "--eod", "",
                     fmt::format("'{}' is no token of the tokenizer", eod),
                     "a token as it is spelled in tokenizer.json");
}

TrainingData open_training_data(const DataRequest& data, SampleRequest request) {
  request.shares = parse_split(data.split);
  const auto tokenizer = open_tokenizer(data.tokenizer);
  const std::optional<std::int32_t> eod = end_of_document(data.eod, *tokenizer);
  std::vector<WeightedDocuments> list;
  for (const BlendPart& part : parse_blend(data.source)) {
    list.push_back({open_documents(part.source, *tokenizer, eod, data.cache_directory, data.vocab),
                    part.weight});
  }
  return {order_samples(list, request), eod};
}

}  // namespace pleat
