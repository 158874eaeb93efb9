// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The words of docs/glossary.md that a text uses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pleat::cli {

struct Word {
  std::string word, meaning;  // "TP, tensor parallel"; without marks of Markdown
};

// `glossary`: tables of Markdown, each row a word (or several, with commas) and what it means. A
// word is used where it stands between others, also before a number ("TP2") and in the plural.
[[nodiscard]] std::vector<Word> words_used(std::string_view glossary, const std::string& text);

}  // namespace pleat::cli
