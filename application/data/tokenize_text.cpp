// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "backend/data/document_reader.hpp"
#include "backend/data/tokenizer/tokenizer.hpp"
#include "console/output.hpp"
#include "application/data/data_commands.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

std::string standard_input() {
  std::string text;
  char chunk[65536];
  for (;;) {
    const ssize_t n = ::read(STDIN_FILENO, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_config_error(ExitCode::device_or_io, "stdin", "", std::strerror(errno));
    if (n == 0) return text;
    text.append(chunk, static_cast<std::size_t>(n));
  }
}

std::string input(const TokenizeOptions& o) {
  std::string text;
  for (const std::string& word : o.text) text += (text.empty() ? "" : " ") + word;
  if (!o.text.empty()) return text;
  if (o.file.empty()) return standard_input();
  return std::string(text_of(MappedFile(o.file)));
}

}  // namespace

void tokenize_text(const TokenizeOptions& o) {
  const auto tokenizer = open_tokenizer(o.tokenizer);
  const std::string text = input(o);
  const auto encoder = tokenizer->encoder();
  std::vector<std::int32_t> ids;
  const auto start = std::chrono::steady_clock::now();
  encoder->encode(text, o.specials, ids);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (o.bench) {
    print(fmt::format("{} bytes, {} tokens, {:.3f} s, {:.1f} MB/s\n", text.size(), ids.size(),
                      seconds, static_cast<double>(text.size()) / 1e6 / seconds));
    return;
  }
  std::string out;
  for (const std::int32_t id : ids) {
    if (o.pieces) {
      out += fmt::format("{:>7}  {}\n", id, tokenizer->decode(std::vector<std::int32_t>{id}));
    } else {
      out += (out.empty() ? "" : " ") + std::to_string(id);
    }
  }
  print(o.pieces ? out : out + "\n");
}

}  // namespace pleat
