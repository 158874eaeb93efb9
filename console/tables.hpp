// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Text tables for terminals, and numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"

namespace pleat {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::right;
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as `columns`
  std::size_t keys = 1;  // where it falls apart, every part begins with so many of the columns
};

// Columns two spaces apart, a line of titles, no trailing blanks; ends with a newline.
[[nodiscard]] std::string to_text(const Table&);

// The same in so many columns of a terminal, nothing cut. As far as it takes: titles break at
// blanks; the text of a last column that is aligned left breaks, or stands below its row; that of a
// first one stands above; and what is still too wide falls apart into tables with the same rows.
[[nodiscard]] std::string to_text(const Table&, std::size_t columns);

// The same table without the column of that title.
[[nodiscard]] Table without_column(Table, std::string_view title);

[[nodiscard]] std::string format_count(std::int64_t);       // 671,026,419,200
[[nodiscard]] std::string format_billions(std::int64_t);    // 671.026 B
[[nodiscard]] std::string format_bytes(std::int64_t);       // 3.21 GiB
[[nodiscard]] std::string format_seconds(Seconds);          // 12.3 ms
[[nodiscard]] std::string format_percent(double fraction);  // +12.3 %

// Three significant digits, and all of those before the point: "0.0912",
// "2.88", "12.3", "1234".
[[nodiscard]] std::string three_digits(double value);

}  // namespace pleat
