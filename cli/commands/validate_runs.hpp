// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Published runs predicted and compared.
#pragma once

#include <string>
#include <vector>

namespace pleat::cli {

struct ValidateOptions {
  std::vector<std::string> rows;      // files; empty: the shipped ones
  std::vector<std::string> tiers;     // only these; empty: all
  std::vector<std::string> profiles;  // files to use in place of the shipped profiles
  std::string profile_folder;         // every .json in it, likewise
  std::string html_file, out_file;    // empty: none
  bool force = false;                 // these files may be there already
  bool recipes = false;               // rows of tier A against the best of a search
  int learn = 0;                      // judge learning from so many runs; 0: not
  int draws = 10;                     // of such runs
  std::string know = "all";           // or tables, datasheet
  int threads = 0;
  bool json = false;
};

// `pleat validate`.
void validate(const ValidateOptions&);

}  // namespace pleat::cli
