// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat data: makes indexed datasets, shows them and the order of their samples, tokenizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pleat {

struct MakeDataOptions {
  std::vector<std::string> files;
  std::string out, tokenizer = "byte", documents = "auto", json_key = "text";
  std::string eod;  // the token that ends documents; empty: the tokenizer's own
  bool no_eod = false, specials = false, force = false, dry_run = false;
  int jobs = 1;
};
// Writes OUT.bin and OUT.idx, both or neither.
void make_data(const MakeDataOptions&);

struct InspectDataOptions {
  std::string source, tokenizer, split = "1", part = "train";
  std::int64_t seq_len = 0, samples = 0, sample = 0, show = 64;
  std::int64_t seed = 1234;
  bool json = false;
};
// Counts of a dataset; with seq_len the order of its samples and one of them, as text if there is a
// tokenizer.
void inspect_data(const InspectDataOptions&);

struct TokenizeOptions {
  std::vector<std::string> text;  // joined by spaces; empty: `file`
  std::string file, tokenizer = "byte";
  bool specials = false, pieces = false, bench = false;
};
// Prints the ids.
void tokenize_text(const TokenizeOptions&);

}  // namespace pleat
