// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenize_files.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::size_t kBatchBytes = 4 << 20;  // of text, a job

class Batch {
 public:
  Batch(const Tokenizer& tokenizer, const TokenizeRequest& request) : request_(request) {
    for (int i = 0; i < request.jobs; ++i) encoders_.push_back(tokenizer.encoder());
  }

  void add(std::string text) {
    bytes_ += text.size();
    texts_.push_back(std::move(text));
  }
  [[nodiscard]] bool full() const { return bytes_ >= kBatchBytes * encoders_.size(); }

  // Tokens of every text, in order; then the batch is empty.
  [[nodiscard]] const std::vector<std::vector<std::int32_t>>& encode() {
    tokens_.resize(texts_.size());
    next_ = 0;
    std::vector<std::exception_ptr> errors(encoders_.size());
    std::vector<std::jthread> threads;
    const auto work = [&](std::size_t job) {
      try {
        encode_some(*encoders_[job]);
      } catch (...) {
        errors[job] = std::current_exception();
      }
    };
    for (std::size_t job = 1; job < std::min(encoders_.size(), texts_.size()); ++job)
      threads.emplace_back(work, job);
    work(0);
    for (std::jthread& t : threads) t.join();
    for (const std::exception_ptr& e : errors) {
      if (e) std::rethrow_exception(e);
    }
    texts_.clear();
    bytes_ = 0;
    return tokens_;
  }

 private:
  void encode_some(Encoder& encoder) {
    for (std::size_t i = next_++; i < texts_.size(); i = next_++) {
      tokens_[i].clear();
      encoder.encode(texts_[i], request_.specials, tokens_[i]);
      if (request_.end_of_document) tokens_[i].push_back(*request_.end_of_document);
    }
  }

  const TokenizeRequest& request_;
  std::vector<std::unique_ptr<Encoder>> encoders_;
  std::vector<std::string> texts_;
  std::vector<std::vector<std::int32_t>> tokens_;
  std::atomic<std::size_t> next_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

TokenizeProgress tokenize_files(const Tokenizer& tokenizer, const TokenizeRequest& request,
                                const std::function<void(std::span<const std::int32_t>)>& add,
                                const std::function<void(const TokenizeProgress&)>& report) {
  PLEAT_ASSERT(request.jobs > 0);
  TokenizeProgress progress;
  std::vector<std::unique_ptr<DocumentReader>> readers;
  for (const std::string& file : request.files) {
    readers.push_back(std::make_unique<DocumentReader>(file, request.kind, request.json_key));
    progress.bytes += readers.back()->bytes();
  }
  Batch batch(tokenizer, request);
  const auto flush = [&] {
    for (const auto& tokens : batch.encode()) {
      add(tokens);
      ++progress.documents;
      progress.tokens += static_cast<std::int64_t>(tokens.size());
    }
    if (report) report(progress);
  };
  std::int64_t before = 0;  // bytes of the files that are done
  for (const auto& reader : readers) {
    while (auto text = reader->next()) {
      batch.add(std::move(*text));
      progress.bytes_read = before + reader->bytes_read();
      if (batch.full()) flush();
    }
    before += reader->bytes();
    progress.empty_documents += reader->empty_documents();
  }
  progress.bytes_read = before;
  flush();
  return progress;
}

}  // namespace pleat
