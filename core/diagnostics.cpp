// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnostics.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace pleat {
namespace {

std::string_view label(Severity severity) {
  switch (severity) {
    case Severity::error: return "error: ";
    case Severity::warning: return "warning: ";
    case Severity::note: return "note: ";
  }
  return "";
}

// `row` is its room, kept from one candidate to the next.
std::size_t edit_distance(const std::string& a, const std::string& b,
                          std::vector<std::size_t>& row) {
  row.resize(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::size_t shared_prefix(const std::string& a, const std::string& b) {
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(ends.first - a.begin());
}

// A letter or two begin too many names.
bool says_enough(const std::string& word) {
  return std::count_if(word.begin(), word.end(), [](char c) { return c != '-'; }) >= 3;
}

}  // namespace

std::string to_text(const Diagnostic& d) {
  std::string text(label(d.severity));
  if (!d.where.empty()) text += d.where + ": ";
  if (!d.path.empty()) text += d.path + ": ";
  text += d.message;
  if (!d.hint.empty()) text += "\n  hint: " + d.hint;
  return text;
}

void Diagnostics::error(ExitCode code, std::string where, std::string path, std::string message,
                        std::string hint) {
  add({Severity::error, code, std::move(where), std::move(path), std::move(message),
       std::move(hint)});
}

void Diagnostics::warning(std::string where, std::string path, std::string message,
                          std::string hint) {
  add({Severity::warning, ExitCode::done, std::move(where), std::move(path), std::move(message),
       std::move(hint)});
}

bool Diagnostics::has_errors() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::error; });
}

void Diagnostics::throw_if_errors() const {
  if (has_errors()) throw ConfigError(list_);
}

ConfigError::ConfigError(std::vector<Diagnostic> list) : list_(std::move(list)) {
  for (const Diagnostic& d : list_) {
    if (!text_.empty()) text_ += '\n';
    text_ += to_text(d);
  }
}

ExitCode ConfigError::exit_code() const {
  const auto first = std::find_if(list_.begin(), list_.end(), [](const Diagnostic& d) {
    return d.severity == Severity::error;
  });
  return first == list_.end() ? ExitCode::bad_request : first->code;
}

std::string one_line(const std::exception& e) {
  std::string text = e.what();
  for (char& c : text) c = c == '\n' ? ' ' : c;
  const std::string prefix = "error: ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

void throw_config_error(ExitCode code, std::string where, std::string path, std::string message,
                        std::string hint) {
  throw ConfigError({{Severity::error, code, std::move(where), std::move(path),
                      std::move(message), std::move(hint)}});
}

std::string nearest_name(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  if (says_enough(word)) {  // the beginning of a name: the shortest such
    for (const std::string& candidate : candidates) {
      const bool shorter = best.empty() || candidate.size() < best.size();
      if (candidate.starts_with(word) && shorter) best = candidate;
    }
    if (!best.empty()) return best;
  }
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::vector<std::size_t> row;
  for (const std::string& candidate : candidates) {
    // No shorter way than the difference in length.
    const std::size_t m = word.size(), n = candidate.size();
    if ((m > n ? m - n : n - m) > best_distance) continue;
    const std::size_t distance = edit_distance(word, candidate, row);
    const bool begins_more_alike = distance == best_distance && !best.empty() &&
                                   shared_prefix(word, candidate) > shared_prefix(word, best);
    if (distance < best_distance || begins_more_alike) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "pleat: bug: %s:%d: %s does not hold\n", file, line, expression);
  std::abort();
}

}  // namespace pleat
