// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat watch --html`: a run's steps against their prediction.
#pragma once

#include <string>

#include "application/exchange/watch.hpp"
#include "cli/report/html/page.hpp"

namespace pleat::cli {

// `log`: the name of its file.
[[nodiscard]] HtmlPage watch_page(const WatchReport&, const std::string& log);

}  // namespace pleat::cli
