// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "application/data/data_commands.hpp"
#include "backend/data/indexed_dataset.hpp"
#include "backend/data/tokenize_files.hpp"
#include "backend/data/training_data.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Thrown between batches, so that the writer removes what it has begun.
struct Interrupted {};

DocumentKind kind_of(const std::string& word) {
  if (word == "file") return DocumentKind::file;
  if (word == "line") return DocumentKind::line;
  if (word == "paragraph") return DocumentKind::paragraph;
  return word == "jsonl" ? DocumentKind::jsonl : DocumentKind::automatic;
}

std::optional<std::int32_t> eod_of(const MakeDataOptions& o, const Tokenizer& tokenizer) {
  if (o.no_eod) return std::nullopt;
  if (const auto id = end_of_document(o.eod, tokenizer)) return id;
  throw_config_error(ExitCode::bad_request, "--eod", "",
                     fmt::format("{} does not say which token ends a document", o.tokenizer),
                     "--eod \"<|endoftext|>\", a tokenizer_config.json beside it, or --no-eod");
}

void check_target(const MakeDataOptions& o) {
  for (const char* suffix : {".bin", ".idx"}) {
    std::error_code ignored;
    if (!o.force && fs::exists(o.out + suffix, ignored)) {
      throw_config_error(ExitCode::refused, o.out + suffix, "", "is there already",
                         "--force replaces it");
    }
    require_writable(o.out + suffix);
  }
}

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void show(const TokenizeProgress& p, Clock::time_point start) {
  const double seconds = seconds_since(start);
  progress(fmt::format("{:3.0f}%  {} of {}  {} tokens  {:.1f} MB/s",
                       100.0 * static_cast<double>(p.bytes_read) /
                           static_cast<double>(std::max<std::int64_t>(1, p.bytes)),
                       megabytes(p.bytes_read), megabytes(p.bytes), format_count(p.tokens),
                       static_cast<double>(p.bytes_read) / 1e6 / std::max(seconds, 1e-9)));
}

void say_what_would_be_written(const MakeDataOptions& o, const TokenizeRequest& request,
                               TokenType type) {
  std::int64_t documents = 0, bytes = 0;
  for (const std::string& file : request.files) {
    DocumentReader reader(file, request.kind, request.json_key);
    while (reader.next()) ++documents;
    bytes += reader.bytes();
  }
  note(fmt::format("would write {0}.bin and {0}.idx: {1} documents from {2} of text, {3} tokens",
                   o.out, format_count(documents), megabytes(bytes), name_of(type)));
}

}  // namespace

void make_data(const MakeDataOptions& o) {
  check_target(o);
  const auto tokenizer = open_tokenizer(o.tokenizer);
  TokenizeRequest request{
      o.files, kind_of(o.documents), o.json_key, eod_of(o, *tokenizer), o.specials, o.jobs};
  const TokenType type = type_for(tokenizer->vocab_size());
  if (o.dry_run) return say_what_would_be_written(o, request, type);
  const auto start = Clock::now();
  TokenizeProgress done;
  catch_interrupts();
  try {
    IndexedWriter writer(o.out, type);
    remove_on_interrupt(writer.partial_file().c_str());
    done = tokenize_files(
        *tokenizer, request, [&](std::span<const std::int32_t> tokens) { writer.add(tokens); },
        [&](const TokenizeProgress& p) {
          if (interrupt_pending()) throw Interrupted();
          show(p, start);
        });
    progress("");
    if (done.documents == 0) {
      throw_config_error(ExitCode::bad_file, o.files.front(), "", "has no documents",
                         "files with text");
    }
    writer.finish();
    remove_on_interrupt(nullptr);
  } catch (const Interrupted&) {
    progress("");
    note("interrupted: nothing was written");
    leave_interrupted();
  }
  note(fmt::format(
      "wrote {0}.bin and {0}.idx: {1} documents, {2} tokens ({3}) from {4} of text in {5:.1f} s{6}",
      o.out, format_count(done.documents), format_count(done.tokens), name_of(type),
      megabytes(done.bytes), seconds_since(start),
      done.empty_documents > 0 ? fmt::format("; {} empty documents left out", done.empty_documents)
                               : ""));
}

}  // namespace pleat
