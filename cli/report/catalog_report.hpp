// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What ships: the models and the clusters, a line each.
#pragma once

#include <string>

namespace pleat::cli {

[[nodiscard]] std::string models_text();
[[nodiscard]] std::string models_json();
[[nodiscard]] std::string clusters_text();
[[nodiscard]] std::string clusters_json();

}  // namespace pleat::cli
