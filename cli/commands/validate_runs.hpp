// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Published runs predicted and compared.
#pragma once

#include <string>

#include "application/validate/published_runs.hpp"

namespace pleat::cli {

struct ValidateOptions {
  ValidateQuestion question;
  std::string html_file, out_file;  // empty: none
  bool force = false;               // these files may be there already
  int learn = 0;                    // judge learning from so many runs; 0: not
  int draws = 10;                   // of such runs
  bool json = false;
};

// `pleat validate`.
void validate(const ValidateOptions&);

}  // namespace pleat::cli
