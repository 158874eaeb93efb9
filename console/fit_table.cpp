// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tables in as many columns as a terminal has.
#include <algorithm>
#include <numeric>

#include "console/tables.hpp"
#include "console/wrap.hpp"

namespace pleat {
namespace {

constexpr std::size_t kGap = 2, kIndent = 2, kBelow = 4;
constexpr std::size_t kShort = 16;     // what is no longer is a word, not a text
constexpr std::size_t kMostLines = 2;  // of a cell; a longer text stands below its row

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::size_t widest(const std::vector<std::string>& texts) {
  std::size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, shown_width(text));
  return width;
}

// Some columns of a table beside each other, each as wide as told; others above or below the row.
class Grid {
 public:
  Grid(const Table& table, std::vector<std::size_t> widths, std::size_t columns, bool above,
       bool below)
      : table_(table),
        widths_(std::move(widths)),
        columns_(columns),
        above_(above),
        below_(below) {}

  [[nodiscard]] std::string text() const {
    std::vector<std::string> titles;
    for (const Column& column : table_.columns) titles.push_back(column.title);
    std::string text = row_text(titles, true);
    for (const auto& row : table_.rows) text += row_text(row, false);
    return text;
  }

 private:
  [[nodiscard]] std::string row_text(const std::vector<std::string>& cells, bool titles) const {
    std::string text;
    const std::size_t from = above_ ? 1 : 0, to = cells.size() - (below_ ? 1 : 0);
    if (above_) text += wrap_words(cells.front(), columns_);
    std::vector<std::vector<std::string>> blocks;
    std::size_t height = 1;
    for (std::size_t i = from; i < to; ++i) {
      blocks.push_back(lines_of(wrap_words(cells[i], widths_[i])));
      height = std::max(height, blocks.back().size());
    }
    for (std::size_t l = 0; l < height; ++l) {
      std::string line(above_ ? kIndent : 0, ' ');
      for (std::size_t i = from; i < to; ++i) {
        // Titles stand on the rows, texts hang from them.
        const std::vector<std::string>& block = blocks[i - from];
        const std::size_t skip = titles ? height - block.size() : 0;
        const std::string cell = l >= skip && l - skip < block.size() ? block[l - skip] : "";
        const std::string blanks(widths_[i] - std::min(widths_[i], shown_width(cell)), ' ');
        line += std::string(i == from ? 0 : kGap, ' ');
        line += table_.columns[i].align == Align::left ? cell + blanks : blanks + cell;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
    const std::string blanks(kBelow, ' ');
    if (below_ && !cells.back().empty())
      text += wrap_words(cells.back(), columns_, {blanks, blanks});
    return text;
  }

  const Table& table_;
  const std::vector<std::size_t> widths_;
  const std::size_t columns_;
  const bool above_, below_;
};

// With titles broken at blanks.
std::vector<std::size_t> least_widths(const Table& table) {
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) widths.push_back(widest(words_of(column.title)));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], shown_width(row[i]));
    }
  }
  return widths;
}

std::size_t total(const std::vector<std::size_t>& widths, std::size_t from, std::size_t to) {
  if (to <= from) return 0;
  const auto at = [&](std::size_t i) { return widths.begin() + static_cast<std::ptrdiff_t>(i); };
  return std::accumulate(at(from), at(to), std::size_t{0}) + kGap * (to - from - 1);
}

std::size_t longest_word(const Table& table, std::size_t column) {
  std::size_t width = 0;
  for (const auto& row : table.rows) width = std::max(width, widest(words_of(row[column])));
  return width;
}

Table part_of(const Table& table, std::size_t from, std::size_t to) {
  Table part;
  part.keys = table.keys;
  part.rows.resize(table.rows.size());
  for (std::size_t i = 0; i < to; ++i) {
    if (i >= table.keys && i < from) continue;
    part.columns.push_back(table.columns[i]);
    for (std::size_t r = 0; r < table.rows.size(); ++r) part.rows[r].push_back(table.rows[r][i]);
  }
  return part;
}

// Where each part begins, if none is wider than `most`; the last number is the end.
std::vector<std::size_t> cuts(const std::vector<std::size_t>& widths, std::size_t keys,
                              std::size_t count, std::size_t most) {
  std::vector<std::size_t> at{keys};
  const std::size_t taken = total(widths, 0, keys);
  for (std::size_t to = keys + 1; to < count; ++to) {
    if (taken + kGap + total(widths, at.back(), to + 1) > most) at.push_back(to);
  }
  at.push_back(count);
  return at;
}

// Tables of the same rows: the keys, and some of the other columns beside them. As few as can be,
// and about as wide as each other. A text finds its place beside or below the last.
std::string in_parts(const Table& table, const std::vector<std::size_t>& widths,
                     std::size_t columns, bool text_last) {
  const std::size_t count = widths.size() - (text_last ? 1 : 0);
  std::vector<std::size_t> at = cuts(widths, table.keys, count, columns);
  for (std::size_t most = columns; most > 0; --most) {
    std::vector<std::size_t> narrower = cuts(widths, table.keys, count, most);
    if (narrower.size() > at.size()) break;
    at = std::move(narrower);
  }
  at.back() = widths.size();
  std::string text;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    text += (text.empty() ? "" : "\n") + to_text(part_of(table, at[i], at[i + 1]), columns);
  }
  return text;
}

}  // namespace

std::string to_text(const Table& table, std::size_t columns) {
  const std::string plain = to_text(table);
  if (table.columns.empty() || widest(lines_of(plain)) <= columns) return plain;
  std::vector<std::size_t> widths = least_widths(table);
  const std::size_t count = widths.size();
  if (total(widths, 0, count) <= columns) return Grid(table, widths, columns, false, false).text();
  const bool text_last =
      count > 1 && table.columns.back().align == Align::left && widths.back() > kShort;
  const std::size_t others = count - (text_last ? 1 : 0);
  const std::size_t taken = total(widths, 0, others);
  if (text_last && taken + kGap < columns) {
    const std::size_t room = columns - taken - kGap;
    if (longest_word(table, count - 1) <= room && widths.back() <= kMostLines * room) {
      widths.back() = room;
      return Grid(table, widths, columns, false, false).text();
    }
  }
  if (taken <= columns) return Grid(table, widths, columns, false, text_last).text();
  const bool name_first = table.columns.front().align == Align::left && others > 2;
  if (name_first && widths.front() > columns / 4 && kIndent + total(widths, 1, others) <= columns) {
    return Grid(table, widths, columns, true, text_last).text();
  }
  if (count > table.keys + 1) return in_parts(table, widths, columns, text_last);
  return Grid(table, widths, columns, false, text_last).text();
}

}  // namespace pleat
