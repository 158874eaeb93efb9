// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Text that a trained model goes on writing.
#pragma once

#include <cstdint>
#include <string>

namespace pleat {

struct SampleOptions {
  std::string checkpoint;  // of `pleat train --save`: one, or a folder of many
  std::string from;        // instead: a Hugging Face folder
  std::string tokenizer;   // empty: byte, or that of the folder
  std::string prompt = "\n";
  int tokens = 200;          // to write
  double temperature = 0.8;  // 0: always the likeliest token
  int top_k = 0;             // among so many of the likeliest; 0: all
  std::int64_t context = 0;  // tokens that are looked at; 0: those of training, or 256
  std::uint64_t seed = 1;
  bool json = false;
};

// Writes to stdout as it goes. Keys are not kept from token to token: each costs a forward pass of
// the context on one rank of this process.
void sample_text(const SampleOptions&);

}  // namespace pleat
