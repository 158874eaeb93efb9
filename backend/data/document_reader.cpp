// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/document_reader.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

}  // namespace

DocumentReader::DocumentReader(const std::string& path, DocumentKind kind, std::string json_key)
    : path_(path), file_(path), text_(text_of(file_)), kind_(kind), json_key_(std::move(json_key)) {
  if (kind_ != DocumentKind::automatic) return;
  kind_ = path.ends_with(".jsonl") ? DocumentKind::jsonl : DocumentKind::file;
}

std::string_view DocumentReader::next_line() {
  const std::string_view rest = text_.substr(at_);
  const std::string_view line = rest.substr(0, rest.find('\n'));
  at_ += std::min(line.size() + 1, rest.size());
  ++line_;
  return line;
}

std::string DocumentReader::paragraph() {
  std::string text;
  while (at_ < text_.size()) {
    const std::string_view line = next_line();
    if (is_blank(line)) {
      if (text.empty()) continue;
      break;
    }
    text.append(line).push_back('\n');
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string DocumentReader::json_text(std::string_view line) const {
  const std::string where = fmt::format("{}:{}", path_, line_);
  const auto bad = [&](const std::string& what) {
    throw_config_error(
        ExitCode::bad_file, where, "", what,
        fmt::format("an object a line with its text in \"{}\" (--json-key)", json_key_));
  };
  try {
    const auto json = nlohmann::json::parse(line.begin(), line.end());
    if (!json.is_object()) bad("is no JSON object");
    const auto text = json.find(json_key_);
    if (text == json.end()) bad(fmt::format("has no \"{}\"", json_key_));
    if (!text->is_string()) bad(fmt::format("\"{}\" is no text", json_key_));
    return text->get<std::string>();
  } catch (const nlohmann::json::exception&) {
    bad("is not valid JSON");
  }
  return {};
}

std::optional<std::string> DocumentReader::next() {
  while (at_ < text_.size()) {
    std::string text;
    switch (kind_) {
      case DocumentKind::automatic:
      case DocumentKind::file:
        text = text_;
        at_ = text.size();
        break;
      case DocumentKind::line:
        text = next_line();
        if (text.ends_with('\r')) text.pop_back();
        break;
      case DocumentKind::paragraph:
        text = paragraph();
        break;
      case DocumentKind::jsonl: {
        const std::string_view line = next_line();
        if (is_blank(line)) continue;
        text = json_text(line);
        break;
      }
    }
    if (!text.empty()) return text;
    if (kind_ != DocumentKind::paragraph) ++empty_;
  }
  return std::nullopt;
}

}  // namespace pleat
