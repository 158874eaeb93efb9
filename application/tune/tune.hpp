// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The whole loop on this machine: calibrate, plan, train the winner, and check the prediction by
// running the winner against plans that it beat.
#pragma once

#include <cstdint>
#include <string>

namespace pleat {

struct TuneOptions {
  std::string model = "tiny-moe";
  std::string data = "bible";    // DataRequest's words
  std::string tokenizer = "byte", split = "1", eod;
  std::string out;               // folder; empty: "tune" in the cache directory
  int ranks = 4;
  std::int64_t seq_len = 128;
  std::int64_t global_batch = 32;
  int steps = 0;                 // 0: as many as fit into about 40 seconds
  int rounds = 5;
  int plans = 0;                 // run so many plans in turns instead of two losers; 0: no
  double lr = 3e-3;
  bool recalibrate = false;
  bool json = false;
};

// `pleat tune`.
void tune(const TuneOptions&);

}  // namespace pleat
