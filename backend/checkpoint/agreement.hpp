// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Texts that all ranks exchange between two steps.
#pragma once

#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"

namespace pleat {

// Every rank's text, in rank order.
[[nodiscard]] std::vector<std::string> gather_texts(Communicator&, const std::string& mine);
// Rank 0's text on every rank.
[[nodiscard]] std::string text_of_first(Communicator&, const std::string& mine);
// The first text that is not empty: what went wrong on some rank, the same on all.
[[nodiscard]] std::string first_problem(Communicator&, const std::string& mine);

}  // namespace pleat
