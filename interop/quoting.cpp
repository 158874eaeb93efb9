// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/quoting.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"

namespace pleat::interop {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool is_plain_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view("._-+,/:@%=").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string shell_word(const std::string& text, const std::string& path) {
  if (std::any_of(text.begin(), text.end(), is_control)) {
    throw_config_error(ExitCode::bad_request, "", path,
                       "has a line break or another control character", "one line of plain text");
  }
  if (is_plain_word(text)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string json_string(const std::string& text) { return JsonValue(text).dump(0); }

std::string one_line(const std::string& text) {
  std::string line = text;
  std::replace_if(line.begin(), line.end(), is_control, '?');
  return line;
}

bool is_plain_name(const std::string& text) {
  return !text.empty() && text.size() <= 128 && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_dns_name(const std::string& text, bool dots) {
  constexpr std::size_t kMostLabel = 63, kMostName = 253;
  if (text.size() > (dots ? kMostName : kMostLabel)) return false;
  const auto ends_label = [&](std::size_t i) {
    return i == 0 || i + 1 == text.size() || text[i - 1] == '.' || text[i + 1] == '.';
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool inside = c == '-' || (c == '.' && dots);
    if (!plain && (!inside || ends_label(i))) return false;
  }
  return !text.empty();
}

std::string dns_label(const std::string& text) {
  std::string label;
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool kept = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (kept)
      label += lower;
    else if (!label.empty() && label.back() != '-')
      label += '-';
    if (label.size() == 50) break;
  }
  while (!label.empty() && label.back() == '-') label.pop_back();
  return label.empty() ? "pleat" : label;
}

}  // namespace pleat::interop
